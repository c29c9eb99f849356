"""What the constructors of a class leave behind."""

from __future__ import annotations

from dataclasses import dataclass

from ddelint.static.domain.values import Value


@dataclass(slots=True)
class Constructed:
    """A class once its constructors have run, and those that it inherits."""

    values: dict[str, Value]
    """Attribute → what it holds."""
    made: frozenset[str]
    """The attributes that constructors set."""
    used: frozenset[str]
    """The names that constructors, and the methods that they mention, use of the object."""
    changed: frozenset[str]
    """The attributes that other methods assign."""
