"""For what is left: what stands in the way of a rewrite, and the smallest one by hand that the rule shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ddelint.knowledge import catalog
from ddelint.nouns.diagnostics import NEEDS_A_PROMISE, STILL_ASKS
from ddelint.nouns.protocol import TIME_IS_OVER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ddelint.nouns.diagnostics import Diagnostic, Refusal


_SAYS_LESS = (STILL_ASKS, NEEDS_A_PROMISE, TIME_IS_OVER)
"""What a refusal says that is no reason against the rewrite itself, the emptiest last."""
BY_HAND = "by hand, for example:"


@dataclass(frozen=True, slots=True)
class Help:
    """Help for a finding that no rewrite cleared."""

    hindrance: str
    """One sentence; empty where no rewrite was tried."""
    code: str
    """Lines of Python; empty where the catalogue has none."""

    @property
    def text(self) -> str:
        """All of it, on lines of its own."""
        hindrance = (f"in the way: {self.hindrance}",) if self.hindrance else ()
        example = (BY_HAND, self.code) if self.code else ()
        return "\n".join((*hindrance, *example))


def help_for(diagnostic: Diagnostic) -> Help | None:
    """Help where rewrites were tried and none was kept, and where the text alone was read and offers none."""
    if diagnostic.fix is not None or diagnostic.fix_pending:
        return None
    try:
        rule = catalog.rule(diagnostic.code)
    except KeyError:  # a rule of a file that is not loaded
        rule = None
    lines = [] if rule is None else [x for x in rule.documentation.good.splitlines() if not x.startswith("```")]
    if diagnostic.refused:
        told = most_telling(diagnostic.refused)
        return Help(f"{told.message}: {told.reason}", "\n".join(lines))
    read_only = diagnostic.origin == ("static",) and rule is not None and rule.moves
    return Help("", "\n".join(lines)) if read_only and lines else None


def most_telling(refused: Sequence[Refusal]) -> Refusal:
    """The first refusal that says what came out differently; one that only says that nothing came of it says less."""

    def emptiness(refusal: Refusal) -> int:
        return next((n for n, begun in enumerate(_SAYS_LESS) if refusal.reason.startswith(begun)), -1)

    return min(refused, key=emptiness)
