"""What classes of a project inherit from each other."""

from __future__ import annotations

from collections.abc import Iterator

from ddelint.knowledge.operators import operators
from ddelint.static.program.declared import ClassOutline
from ddelint.static.program.imports import Imports, Reached


class Inheritance:
    """The classes of a project. What answers rest on, the project notes."""

    def __init__(self, project: Imports) -> None:
        self._project = project
        self._chains: dict[Reached, tuple[tuple[Reached, ClassOutline], ...]] = {}
        """See `chain`; good for as long as the project notes what is consulted in the same place."""
        self._noted = project.consulted

    def chain(self, owner: Reached) -> tuple[tuple[Reached, ClassOutline], ...]:
        """The class and those of the project that it inherits from, nearest first."""
        if self._noted is not self._project.consulted:
            self._noted = self._project.consulted
            self._chains.clear()
        if owner not in self._chains:
            self._chains[owner] = tuple(self._inherited(owner))
        return self._chains[owner]

    def _inherited(self, owner: Reached) -> Iterator[tuple[Reached, ClassOutline]]:
        for place in self._project.ancestors(*owner):
            if isinstance(place, tuple):
                outline = self._project.outline(place[0])
                if outline is not None and place[1] in outline.classes:
                    yield place, outline.classes[place[1]]

    def method_of(self, owner: Reached, name: str) -> set[Reached]:
        """A method that is called on a class, or on an object of it; of an autograd function, what `apply` runs."""
        known = operators().regions
        if name in known["autograd_calls"]:
            bases = (place for place in self._project.ancestors(*owner) if isinstance(place, str))
            if any(base in known["autograd_functions"] for base in bases):
                return {
                    (place[0], f"{place[1]}.{method}")
                    for place, cls in self.chain(owner)
                    for method in known["guessed_methods"]
                    if method in cls.methods
                }
        for place, cls in self.chain(owner):
            if name in cls.methods:
                return {(place[0], f"{place[1]}.{name}")}
        return set()
