"""For what is left: what stands in the way of a rewrite, and the smallest one by hand that the rule shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ddelint import catalog

if TYPE_CHECKING:
    from ddelint.diagnostics import Diagnostic


@dataclass(frozen=True, slots=True)
class Help:
    """Help for a finding that no rewrite cleared."""

    hindrance: str
    """One sentence."""
    code: str
    """Lines of Python; empty where the catalogue has none."""

    @property
    def text(self) -> str:
        """All of it, on lines of its own."""
        example = ("by hand, for example:", self.code) if self.code else ()
        return "\n".join((f"in the way: {self.hindrance}", *example))


def help_for(diagnostic: Diagnostic) -> Help | None:
    """Help where rewrites were tried and none was kept; None otherwise."""
    if diagnostic.fix is not None or not diagnostic.refused:
        return None
    first = diagnostic.refused[0]
    try:
        shown = catalog.rule(diagnostic.code).documentation.good
    except KeyError:  # a rule of a file that is not loaded
        shown = ""
    lines = [line for line in shown.splitlines() if not line.startswith("```")]
    return Help(f"{first.message}: {first.reason}", "\n".join(lines))
