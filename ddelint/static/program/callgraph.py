"""Who calls whom across files, read off the text of the functions that a compiler traces.

What is followed: functions, `self.method()` wherever the class inherits it from, methods of objects that the function
builds or that the object holds (`self.matcher = Matcher()`), and what an autograd function's `apply` runs. A function
that is mentioned counts as called: by its name, as what an attribute (`self.op = Function.apply`) or a name of a module
(`OPS = {"a": one}`) was set to.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from ddelint.knowledge.operators import operators
from ddelint.static.program import scan
from ddelint.static.program.always import Always
from ddelint.static.program.declared import Outline
from ddelint.static.program.drawing import Drawing
from ddelint.static.program.eagerness import is_test, keeps_states, reads_files, trains
from ddelint.static.program.held import Calls, Held
from ddelint.static.program.imports import Imports, Reached
from ddelint.static.program.inheritance import Inheritance
from ddelint.static.program.kept_away import kept_away

CALLED = re.compile(r"(?<![\w.])([A-Za-z_][\w.]*+)\(")
"""A call of what goes by a (dotted) name."""
_METHOD_OF_RESULT = re.compile(r"[\])]\.(\w++)\(")
_HANDED = re.compile(r"\bself\.(\w++)(?![(.])")
"""An attribute of its own object that it does not call, but may give to something or pick from."""
_PARENTS = re.compile(r"\bsuper\(\)\.(\w++)\(")
_REST_OF_CALL = re.compile(r"((?:\.[\w.]*+)?)\(")
_PART_OF_NAME = re.compile(r"[\w.]")
_WORD = re.compile(r"\w++")
_SELF = ("self", "cls")


@dataclass(frozen=True, slots=True)
class _Spot:
    """A function that is traced: of which class its object is, and whether something in another file calls it."""

    owner: Reached | None
    name: str
    elsewhere: bool = False
    behind: Reached | None = None
    """`super()` of this class: it is looked for behind it."""
    caller: Reached | None = None
    """The class whose method calls it on `self`."""


class CallGraph:
    """The calls between a project's files. What answers rest on, the project notes."""

    def __init__(self, project: Imports, training: Always) -> None:
        self._project = project
        self._training = training
        self._calls: dict[Reached, tuple[str, Calls]] = {}
        """By function, with the digest of the file that it was read in."""
        self._by_itself: dict[Reached, tuple[str, bool]] = {}
        """Likewise, whether its own text asks, or gives a mask."""
        self._away: dict[str, tuple[str, frozenset[str]]] = {}
        """By file, with its digest."""
        self._drawing = Drawing()
        self._inheritance = Inheritance(project)
        self._held = Held(project, self._inheritance)

    def method_of(self, owner: Reached, name: str) -> set[Reached]:
        """See Inheritance."""
        return self._inheritance.method_of(owner, name)

    def of_class(self, path: str, name: str) -> tuple[set[str], set[Reached]]:
        """What the entry methods of a class reach: see `_walk`."""
        spots = (_Spot((path, name), method) for method in operators().regions["guessed_methods"])
        return self._walk(path, [spot for spot in spots if not self.trains((path, f"{name}.{spot.name}"))])

    def trains(self, method: Reached) -> bool:
        """Whether a method of a class, as it may inherit it, always trains something."""
        owner, _, name = method[1].partition(".")
        place = self._place(method[0], _Spot((method[0], owner), name))
        return place is not None and (trains(self._text(place)) or self._training.where_it_asks(method))

    def of_functions(self, path: str, functions: Iterable[str]) -> tuple[set[str], set[Reached]]:
        """What these functions (`fn`, `Class.method`) of a file reach: see `_walk`."""
        return self._walk(path, [_spot(path, function) for function in functions])

    def kept_away(self, path: str) -> frozenset[str]:
        """The functions of a file that a compiler is kept away from."""
        outline = self._project.outline(path)
        if outline is None:
            return frozenset()
        known = self._away.get(path)
        if known is None or known[0] != outline.digest:
            known = self._away[path] = outline.digest, kept_away(outline)
        return known[1]

    def behind_away(self, path: str, functions: Iterable[str]) -> tuple[set[str], set[Reached]]:
        """The functions of the file, and of others, that these call though a compiler is kept away from them.

        Where that is what an autograd function's `apply` runs, its gradient is among them.
        """
        within: set[Reached] = set()
        spots = [_spot(path, function) for function in functions]
        _, others = self._walk(path, spots, within)
        while gradients := self._gradients(path, within) - within:
            others |= self._walk(path, [_spot(path, function) for _, function in gradients], within)[1]
        return {name for file, name in within if file == path}, others

    def _gradients(self, path: str, within: Iterable[Reached]) -> set[Reached]:
        """The methods beside the `forward`s among these functions that autograd calls."""
        outline, known = self._project.outline(path), operators().regions
        owners = {name.partition(".")[0] for file, name in within if file == path and "." in name}
        return {
            (path, f"{owner}.{method}")
            for owner in owners
            if outline is not None and owner in outline.classes
            for method in known["autograd_gradients"] & outline.classes[owner].methods.keys()
        }

    def behind(self, place: Reached) -> frozenset[Reached]:
        """What a function calls by itself: functions, and methods of its own object."""
        calls = self._calls_of(place)
        owner, _, method = place[1].rpartition(".")
        methods = (self.method_of((place[0], owner), name) for name in calls.own - {method}) if owner else ()
        return calls.places.union(*methods)

    def sources(self, path: str) -> tuple[str, ...]:
        """Calls in a file of functions of other files that may read data, or that call such: `find(`."""
        found: list[str] = []
        for name in sorted(self._calls_of_others(path)):
            place = self._project.resolve(path, name)
            if not isinstance(place, tuple) or place[0] == path or self._project.is_class(place):
                continue
            if self.may_ask(place):
                found.append(f"{name}(")
        return tuple(found)

    def _calls_of_others(self, path: str) -> set[str]:
        """The names that are called in a file and may come from another one of the project."""
        outline = self._project.outline(path)
        if outline is None:
            return set()
        if outline.stars:
            called = set(CALLED.findall(outline.text))
            return {
                n for n in called if (first := n.partition(".")[0]) not in _SELF and self._project.is_ours(path, first)
            }
        text = outline.text
        found: set[str] = set()
        for name in outline.imports:
            if name in _SELF or not self._project.is_ours(path, name):
                continue
            place = text.find(name)
            while place >= 0:  # a pattern that begins with any name takes three times as long
                end = place + len(name)
                called_as = _REST_OF_CALL.match(text, end)
                if called_as is not None and not _PART_OF_NAME.match(text, max(place - 1, 0), place):
                    found.add(name + called_as.group(1))
                place = text.find(name, end)
        return found

    def may_ask(self, place: Reached) -> bool:
        """Whether the text of a function, or of one that it calls, may read data, or gives a mask."""
        outline = self._project.outline(place[0])
        digest = "" if outline is None else outline.digest
        known = self._by_itself.get(place)
        if known is None or known[0] != digest:
            asks = self._asks(place) or _gives_mask(self._text(place))
            known = self._by_itself[place] = digest, asks
        return known[1] or any(self._asks(further) for further in self._calls_of(place).places)

    def _walk(
        self, path: str, waiting: list[_Spot], within: set[Reached] | None = None
    ) -> tuple[set[str], set[Reached]]:
        """The methods of `path` that something in another file calls, and the functions of other files that are called.

        What leads nowhere is left out: it neither may ask, nor calls anything of the project. So is what a compiler is
        kept away from, unless it begins with that: then `within` is given, and takes all that is gone through.
        """
        mine: set[str] = set()
        others: set[Reached] = set()
        seen: set[_Spot] = set()
        while waiting:
            spot = waiting.pop()
            if spot in seen:
                continue
            seen.add(spot)
            place = self._place(path, spot)
            if place is None:
                continue
            if within is None and self._is_away(place):
                continue
            if within is not None:
                within.add(place)
            file, qualified = place
            calls = self._calls_of(place)
            entry = spot.name in operators().regions["entry_methods"]
            if file == path and (spot.elsewhere or self._overrides(spot, place)):
                mine.add(qualified)
            elif file != path and not entry and (calls.places or calls.held or self._asks(place)):
                others.add(place)
            elsewhere = spot.elsewhere or file != path
            if spot.owner is not None:
                cls = (file, qualified.partition(".")[0])
                waiting += [_Spot(spot.owner, name, elsewhere, caller=cls) for name in calls.own | calls.handed]
                waiting += [_Spot(spot.owner, name, elsewhere, cls) for name in calls.parents]
                held = self._held.of(spot.owner, calls)
            else:
                held = set()
            if file != path:
                continue  # that file says itself what else its functions call
            for target in {*calls.places, *held}:
                if target[0] == path:
                    waiting.append(_spot(path, target[1]))
                elif self._leads_somewhere(target):
                    others.add(target)
        return mine, others

    def _overrides(self, spot: _Spot, place: Reached) -> bool:
        """Whether the class that calls the method does not have it as it stands here: an heir has defined it anew."""
        if spot.caller is None:
            return False
        owner = (place[0], place[1].partition(".")[0])
        return owner != spot.caller and all(owner != ancestor for ancestor, _ in self._inheritance.chain(spot.caller))

    def _is_away(self, place: Reached) -> bool:
        return place[1] in self.kept_away(place[0])

    def _leads_somewhere(self, place: Reached) -> bool:
        name = place[1].rpartition(".")[2]
        if reads_files(name) or keeps_states(name) or is_test(name) or self._is_away(place):
            return False
        calls = self._calls_of(place)
        return bool(calls.places or calls.own or calls.held or calls.parents) or self._asks(place)

    # ---- one function

    def _place(self, path: str, spot: _Spot) -> Reached | None:
        """Where the function stands that is called."""
        if spot.owner is None:
            outline = self._project.outline(path)
            return (path, spot.name) if outline is not None and spot.name in outline.functions else None
        behind = spot.behind is None
        for place, cls in self._inheritance.chain(spot.owner):
            if behind and spot.name in cls.methods:
                return place[0], f"{place[1]}.{spot.name}"
            behind = behind or place == spot.behind
        return None

    def _text(self, place: Reached) -> str:
        outline = self._project.outline(place[0])
        name, _, method = place[1].partition(".")
        if outline is None:
            return ""
        if not method:
            return outline.function_texts.get(name, "")
        return outline.classes[name].methods.get(method, "") if name in outline.classes else ""

    def _asks(self, place: Reached) -> bool:
        outline = self._project.outline(place[0])
        name, _, method = place[1].partition(".")
        if outline is None:
            return False
        if self._drawing.draws(place, outline, self._text(place)):
            return False
        if not method:
            return outline.asks(name)
        cls = outline.classes.get(name)
        return cls is not None and method in cls.methods and cls.asks(method)

    def _calls_of(self, place: Reached) -> Calls:
        outline = self._project.outline(place[0])
        digest = "" if outline is None else outline.digest
        known = self._calls.get(place)
        if known is None or known[0] != digest:
            known = self._calls[place] = digest, self._read(place)
        else:
            for target in known[1].places:
                self._project.outline(target[0])  # what this rests on
        return known[1]

    def _read(self, place: Reached) -> Calls:
        text = scan.without_prose(self._text(place).partition(":")[2])
        path = place[0]
        outline = self._project.outline(path)
        if outline is None or self._drawing.draws(place, outline, self._text(place)):
            return Calls()
        own: set[str] = set()
        held: set[tuple[str, str]] = set()
        places: set[Reached] = set()
        built: set[Reached] = set()
        methods = set(_METHOD_OF_RESULT.findall(text))
        if ")(" in text:  # `Finder()(mask)`
            methods.add("__call__")
        called, words = set(CALLED.findall(text)), set(_WORD.findall(text))
        places |= self._mentioned(path, outline, text, words - called)
        for name in sorted(called):
            parts = name.split(".")
            if parts[0] in _SELF:
                if len(parts) == 2:
                    own.add(parts[1])
                elif len(parts) == 3:
                    held.add((parts[1], parts[2]))
                continue
            if not self._project.is_ours(path, parts[0]):
                methods.add(parts[-1])
                if parts[0] in outline.bound:
                    places |= self._held.bound(path, parts[0])
                continue
            found = self._project.resolve(path, name)
            if isinstance(found, tuple):
                (built if self._project.is_class(found) else places).add(found)
            elif len(parts) > 1:
                owner = self._project.resolve(path, ".".join(parts[:-1]))
                if isinstance(owner, tuple) and self._project.is_class(owner):
                    places |= self._inheritance.method_of(owner, parts[-1])
                elif owner is None:
                    methods.add(parts[-1])
                    places |= self._held.bound(path, parts[0])
            else:
                places |= self._held.bound(path, name)
        if methods:
            built.update(*(self._held.bound_classes(path, name) for name in words & self._bound_names(path, outline)))
        for cls in built:
            entries = operators().regions["entry_methods"] if self._project.is_module(*cls) is True else ()
            for method in methods.difference(entries):
                places |= self._inheritance.method_of(cls, method)
        parents, handed = frozenset(_PARENTS.findall(text)), frozenset(_HANDED.findall(text))
        return Calls(frozenset(own), parents, frozenset(held), handed, frozenset(methods), frozenset(places - {place}))

    def _bound_names(self, path: str, outline: Outline) -> set[str]:
        """The names of a file that are bound to a value, here or where they are imported from."""
        ours = (name for name in outline.imports if not name.islower() and self._project.is_ours(path, name))
        return {*outline.bound, *(name for name in ours if self._project.resolve(path, name) is None)}

    def _mentioned(self, path: str, outline: Outline, text: str, names: set[str]) -> set[Reached]:
        """The functions that a function names and does not call: itself, or what a name of a module is bound to."""
        found: set[Reached] = set()
        for name in names & (outline.imports.keys() | outline.functions | outline.bound.keys()):
            if name in outline.bound:
                found |= self._held.bound(path, name)
            elif self._project.is_ours(path, name):
                place = self._project.resolve(path, name)
                if place is None:
                    found |= self._held.bound(path, name)
                elif isinstance(place, tuple) and not self._project.is_class(place):
                    found.add(place)
                elif isinstance(place, tuple):
                    applied = (method for method in operators().regions["autograd_calls"] if f"{name}.{method}" in text)
                    found.update(*(self._inheritance.method_of(place, method) for method in applied))
        return found


def _gives_mask(text: str) -> bool:
    """Whether a function's text gives back a comparison, or a name that holds one."""
    if operators().returned_masks.search(text) is not None:
        return True
    return any(re.search(rf"\breturn {name}\b", text) for name in set(operators().bound_masks.findall(text)))


def _spot(path: str, function: str) -> _Spot:
    owner, _, method = function.rpartition(".")
    return _Spot((path, owner), method) if owner else _Spot(None, method)
