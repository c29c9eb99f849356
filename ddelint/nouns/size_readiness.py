"""The nouns of readiness: how much of a program one graph takes, whatever the sizes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Share:
    """So many of so many."""

    ready: int = 0
    of: int = 0

    def __add__(self, other: Share) -> Share:
        return Share(self.ready + other.ready, self.of + other.of)

    @property
    def percent(self) -> int:
        """Rounded down, so that 100 means all; where there is nothing, all of it is ready."""
        return 100 * self.ready // self.of if self.of else 100


@dataclass(frozen=True, slots=True)
class Readiness:
    """What one graph takes without a guard on sizes, of one entry."""

    label: str
    dimensions: Share
    """Of those that may have more than one size: no branch decides by them, no graph is made for each value."""
    lines: Share
    """Of those that ask about sizes: what they ask is a requirement, not a decision."""
    open: tuple[tuple[str, int, str], ...] = ()
    """The lines that are not: file, row, code."""
    failure: str = ""
    """Why nothing is known of it; it counts as not ready then, with no dimensions."""
