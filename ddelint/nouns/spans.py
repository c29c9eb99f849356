"""Stretches of a file, and new text for them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A stretch of a file: rows and columns count from 1, columns in characters, the end is exclusive."""

    filename: str
    row: int
    column: int
    end_row: int
    end_column: int

    @property
    def is_empty(self) -> bool:
        """Whether it is a place between two characters."""
        return (self.row, self.column) == (self.end_row, self.end_column)

    def contains(self, other: Span) -> bool:
        """True when `other` lies within this span of the same file."""
        return (
            self.filename == other.filename
            and (self.row, self.column) <= (other.row, other.column)
            and (other.end_row, other.end_column) <= (self.end_row, self.end_column)
        )

    def overlaps(self, other: Span) -> bool:
        """True when the two spans share at least one character."""
        return (
            self.filename == other.filename
            and (self.row, self.column) < (other.end_row, other.end_column)
            and (other.row, other.column) < (self.end_row, self.end_column)
        )


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace the text under `span` by `content`. An insertion has an empty span."""

    span: Span
    content: str
