"""For what is left: what stands in the way of a rewrite, and the smallest one by hand.

That is the user's own lines, where a rewrite of them was refused for what may never occur; else what the rule shows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ddelint.knowledge import catalog
from ddelint.nouns.diagnostics import IS_ASKED_FIRST, NEEDS_A_PROMISE, OTHER_RESULTS, STILL_ASKS, TIME_IS_OVER
from ddelint.report.examples import example_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ddelint.knowledge.catalog import Rule
    from ddelint.nouns.diagnostics import Diagnostic, Refusal


_SAYS_LESS = (STILL_ASKS, NEEDS_A_PROMISE, TIME_IS_OVER)
"""What a refusal says that is no reason against the rewrite itself, the emptiest last."""
BY_HAND = "by hand, for example:"
_OWN = {
    TIME_IS_OVER: "by hand, not tried any more:",
    NEEDS_A_PROMISE: "by hand, where that always holds:",
    OTHER_RESULTS: "by hand, where callers take as many:",
    "": "by hand, where that input never occurs:",
}
"""What is said of the user's own lines, by what begins the reason against them."""


@dataclass(frozen=True, slots=True)
class Help:
    """Help for a finding that no rewrite cleared."""

    hindrance: str
    """One sentence; empty where no rewrite was tried."""
    code: str
    """Lines of Python; empty where the catalogue has none."""
    intro: str = BY_HAND
    """What is said before the code."""

    @property
    def is_example(self) -> bool:
        """Whether the code is the rule's own example, and says nothing of the user's program."""
        return self.intro == BY_HAND

    @property
    def text(self) -> str:
        """All of it, on lines of its own."""
        hindrance = (f"in the way: {self.hindrance}",) if self.hindrance else ()
        example = (self.intro, self.code) if self.code else ()
        return "\n".join((*hindrance, *example))


def help_for(diagnostic: Diagnostic) -> Help | None:
    """Help where rewrites were tried and none was kept, and where the text alone was read and offers none."""
    if diagnostic.fix is not None or diagnostic.fix_pending:
        return None
    try:
        rule = catalog.rule(diagnostic.code)
    except KeyError:  # a rule of a file that is not loaded
        rule = None
    code = "" if rule is None else _example(rule, diagnostic)
    if diagnostic.refused:
        told = most_telling(diagnostic.refused)
        hindrance = f"{told.message}: {told.reason}" if not told.reason.endswith(IS_ASKED_FIRST) else told.reason
        if told.code:
            intro = next(said for begun, said in _OWN.items() if told.reason.startswith(begun))
            return Help(hindrance, told.code, intro)
        return Help(hindrance, code)
    read_only = diagnostic.origin == ("static",) and rule is not None and rule.moves
    return Help("", code) if read_only and code else None


def _example(rule: Rule, diagnostic: Diagnostic) -> str:
    """Lines that fit the question: in its own names where the rule knows such questions, else the rule's example."""
    if rule.by_hand:
        return example_of(rule, diagnostic.expression)
    shown = rule.documentation.good if rule.example_helps else ""
    return "\n".join(line for line in shown.splitlines() if not line.startswith("```"))


def tries(diagnostic: Diagnostic) -> str:
    """What became of the rewrites of a finding without a fix: `none: 3 rewrites were tried and refused`."""
    count, reasons = len(diagnostic.tried), "; ".join(dict.fromkeys(one.reason for one in diagnostic.untried))
    if not count:
        return f"not tried: {reasons}" if reasons else "none"
    said = "none: 1 rewrite was tried and refused" if count == 1 else f"none: {count} rewrites were tried and refused"
    return f"{said}, others were not tried: {reasons}" if reasons else said


def most_telling(refused: Sequence[Refusal]) -> Refusal:
    """The first refusal that says what came out differently; one that only says that nothing came of it says less.

    Of those that say as much, one that shows what would become of the user's own lines.
    """

    def emptiness(refusal: Refusal) -> tuple[int, bool]:
        says = next((n for n, begun in enumerate(_SAYS_LESS) if refusal.reason.startswith(begun)), -1)
        return says, not refusal.code

    return min(refused, key=emptiness)
