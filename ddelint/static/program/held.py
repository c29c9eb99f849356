"""What is called of the objects and functions that an object, or a name of a module, holds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ddelint.knowledge.operators import operators
from ddelint.static.program.declared import ClassOutline
from ddelint.static.program.imports import Imports, Reached
from ddelint.static.program.inheritance import Inheritance
from ddelint.static.program.public import among_eager


@dataclass(frozen=True, slots=True)
class Calls:
    """What one function calls."""

    own: frozenset[str] = frozenset()
    """Methods of its own object, or attributes that are called."""
    parents: frozenset[str] = frozenset()
    """`super().method`."""
    held: frozenset[tuple[str, str]] = frozenset()
    """`self.attribute.method`."""
    handed: frozenset[str] = frozenset()
    """Attributes of its own object that it may give to something, or pick one from."""
    methods: frozenset[str] = frozenset()
    """Methods of objects that may be anything: what a call gave, what a loop goes through."""
    places: frozenset[Reached] = frozenset()


class Held:
    """What classes and modules of a project hold. What answers rest on, the project notes."""

    def __init__(self, project: Imports, inheritance: Inheritance) -> None:
        self._project = project
        self._inheritance = inheritance

    def of(self, owner: Reached, calls: Calls) -> set[Reached]:
        """The methods of objects that the object holds, where its class says what they are."""
        found: set[Reached] = set()
        wanted = {attribute for attribute, _ in calls.held} | calls.own
        for place, cls in self._inheritance.chain(owner):
            for attribute in sorted(wanted & cls.held.keys()):
                for made in sorted(cls.held[attribute]):
                    owned, _, method = made.partition(".")
                    if owned != "self":
                        found |= self._of_held(place[0], made, attribute, calls)
                        continue
                    makers = next((one for one in self._inheritance.chain(owner) if method in one[1].methods), None)
                    if makers is None:
                        continue
                    for name in sorted(makers[1].returned(method)):
                        found |= self._of_held(makers[0][0], name, attribute, calls)
            for attribute in (wanted | calls.handed) & cls.stored.keys():
                found |= self._functions(place[0], cls.stored[attribute])
            for attribute in (wanted | calls.handed) & cls.set_to.keys():
                for target in self._classes_set(place[0], cls, attribute):
                    if not among_eager(target[0]):
                        found |= self._of_object(target, attribute, calls)
        return found

    def _classes_set(self, path: str, cls: ClassOutline, attribute: str) -> set[Reached]:
        """The classes of which an attribute may hold an object, or several: by the names in what it is set to."""
        names = set(cls.set_to[attribute])
        for name in cls.set_to[attribute] - {attribute}:
            names |= cls.set_to.get(name, frozenset())  # `cls = RULES[name]; self.rule = cls()`
        return set().union(*(self._classes(path, name) for name in names))

    def _classes(self, path: str, name: str) -> set[Reached]:
        """The class that a name stands for, those that a function of it makes, or those in what it is bound to."""
        place = self._project.resolve(path, name) if self._project.is_ours(path, name.partition(".")[0]) else None
        if isinstance(place, tuple):
            return {place} if self._project.is_class(place) else self._made_by(place)
        return self.bound_classes(path, name.partition(".")[0]) if place is None else set()

    def bound_classes(self, path: str, name: str) -> set[Reached]:
        """The classes in what a name of a module is bound to: `RULES = {"hard": Hard}`."""
        bound = self._project.bound(path, name)
        if bound is None:
            return set()
        places = (self._project.resolve(bound[0], one) for one in bound[1] if self._project.is_ours(bound[0], one))
        return {one for one in places if isinstance(one, tuple) and self._project.is_class(one)}

    def _made_by(self, function: Reached) -> set[Reached]:
        """The classes of which a function of a module makes objects."""
        path, name = function
        outline = self._project.outline(path)
        called = outline.called(name) if outline is not None else frozenset()
        places = (self._project.resolve(path, one) for one in called if self._project.is_ours(path, one))
        return {one for one in places if isinstance(one, tuple) and self._project.is_class(one)}

    def _of_held(self, path: str, made: str, attribute: str, calls: Calls) -> set[Reached]:
        """What is called of an attribute that `made(…)` gave."""
        target = self._project.resolve(path, made) if self._project.is_ours(path, made.partition(".")[0]) else None
        if not isinstance(target, tuple) or not self._project.is_class(target):
            return set()
        return self._of_object(target, attribute, calls)

    def _of_object(self, target: Reached, attribute: str, calls: Calls) -> set[Reached]:
        """What is called of an attribute that holds an object of a class, or several."""
        found: set[Reached] = set()
        module = self._project.is_module(*target) is True
        for name, method in calls.held:
            if name == attribute and not (module and method in operators().regions["entry_methods"]):
                found |= self._inheritance.method_of(target, method)
        if attribute in calls.own and not module:
            found |= self._inheritance.method_of(target, "__call__")
        if attribute in calls.own | calls.handed:
            for method in calls.methods.difference(operators().regions["entry_methods"] if module else ()):
                found |= self._inheritance.method_of(target, method)
        return found

    def bound(self, path: str, name: str) -> set[Reached]:
        """The functions in what a name of a module is bound to."""
        bound = self._project.bound(path, name)
        return set() if bound is None else self._functions(*bound)

    def _functions(self, path: str, names: Iterable[str]) -> set[Reached]:
        """The functions among names of a file, and what `Function.apply` runs."""
        found: set[Reached] = set()
        for name in names:
            first, _, method = name.rpartition(".")
            if not self._project.is_ours(path, name.partition(".")[0]):
                continue
            place = self._project.resolve(path, name)
            owner = self._project.resolve(path, first) if place is None and first else None
            if isinstance(place, tuple) and not self._project.is_class(place):
                found.add(place)
            elif isinstance(owner, tuple) and self._project.is_class(owner):
                found |= self._inheritance.method_of(owner, method)
        return found
