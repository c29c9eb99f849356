"""What one file came to in the static pass. Apart from findings, as most files have none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ddelint.nouns.diagnostics import Diagnostic


@dataclass(frozen=True, slots=True)
class Reading:
    """What the static pass read in one file."""

    findings: tuple[Diagnostic, ...] = ()
    comments: bool = False
    """Whether it holds comments that may silence findings, or be findings themselves."""
    reaches: tuple[tuple[str, str, str], ...] = ()
    """Functions of other files that are compiled because of this one: the file, and `fn` or `Class.method`.

    Before them the function of this file because of which they are, where others compile that; else nothing.
    """
    consulted: Mapping[str, str | None] = field(default_factory=dict)
    """Other files that this rests on, by name, with their digests; None: it rests on there being none."""
