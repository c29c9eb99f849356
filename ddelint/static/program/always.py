"""What functions always come to, by their own text or by what they call: training, or what no compiler follows."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import TypeVar

from ddelint.knowledge.operators import operators
from ddelint.static.program import eagerness, scan
from ddelint.static.program.always_run import closed, is_always_run
from ddelint.static.program.declared import Imported, Outline
from ddelint.static.program.imports import Consulted, Imports, Reached
from ddelint.static.program.inheritance import Inheritance

Node = TypeVar("Node", bound=Hashable)
_CALL = re.compile(r"(?<![\w.])(super\(\)\.\w++|[A-Za-z_][\w.]*+)\(")
_PARENT = "super()."
_OBJECTS = frozenset({"self", "cls"})


class Always:
    """Whether functions of a project always come to one thing. Each is gone through once."""

    def __init__(
        self, project: Imports, does: Callable[[str, Outline], bool], may: Callable[[Outline], bool] | None = None
    ) -> None:
        """`does`: whether a function's own text always does it; `may`: whether anything in a file does.

        With `may`, calls are followed from files alone in which something does.
        """
        self._project = project
        self._inheritance = Inheritance(project)
        self._does = does
        self._may = may
        self._in_files: dict[str, tuple[str, bool]] = {}
        """What `may` says of a file, with its digest."""
        self.answers: dict[Reached, tuple[bool, Consulted]] = {}

    def of(self, place: Reached) -> bool:
        """Whether each call of a function does it; a method `Class.method` on objects of that class."""
        if place not in self.answers:
            before, self._project.consulted = self._project.consulted, {}
            found = reaching(place, self._own, self._calls, self._known)
            consulted, self._project.consulted = self._project.consulted, before
            self.answers.update((node, (answer, consulted)) for node, answer in found.items())
        return bool(self._known(place))

    def where_it_asks(self, place: Reached) -> bool:
        """Whether the calls of a function that ask something come to it, by what they call."""
        return any(self.of(target) for target in self._calls(place, each=False))

    def through_calls(self, text: str, path: str, owner: str = "") -> bool:
        """Likewise for a text of a file: that of a function, or of a method of the class `owner`."""
        calls = self._called(text, (path, owner), (path, owner) if owner else None, each=False)
        return any(self.of(target) for target in calls)

    def _known(self, place: Reached) -> bool | None:
        if place not in self.answers:
            return None
        answer, consulted = self.answers[place]
        self._project.consulted.update(consulted)
        return answer

    def _own(self, place: Reached) -> bool:
        found = self._found(place)
        outline = self._project.outline(found[0][0]) if found is not None else None
        return found is not None and outline is not None and self._does(found[1], outline)

    def _calls(self, place: Reached, *, each: bool = True) -> Iterator[Reached]:
        found = self._found(place)
        name, method, _ = place[1].partition(".")
        owner = (place[0], name) if method else None
        if found is None or not self._may_do(found[0][0], owner):
            return iter(())
        (path, where), text = found
        return self._called(text, (path, where.rpartition(".")[0]), owner, each=each)

    def _called(self, text: str, around: Reached, owner: Reached | None, *, each: bool) -> Iterator[Reached]:
        """What a text always calls; `around`: the file and the class that it stands in, `owner`: its object's class."""
        text = scan.without_prose(text)
        targets: dict[str, Reached | None] = {}
        for match in _CALL.finditer(text, text.find(":") + 1):
            name = match[1]
            if name not in targets:
                targets[name] = self._target(name, around, owner)
            target = targets[name]
            if target is not None and is_always_run(text, match.end(), each=each):
                targets[name] = None  # once is enough
                if not _is_bound(name.partition(".")[0], text):
                    yield target

    def _target(self, name: str, around: Reached, owner: Reached | None) -> Reached | None:
        """The function that is called by a name, where it is one of the project's."""
        if name.startswith(_PARENT):
            return self._above(name.removeprefix(_PARENT), around) if owner is not None else None
        first, _, rest = name.partition(".")
        if first in _OBJECTS:
            return (owner[0], f"{owner[1]}.{rest}") if owner is not None and rest and "." not in rest else None
        if not self._project.is_ours(around[0], first):
            return None
        place = self._project.resolve(around[0], name)
        return place if isinstance(place, tuple) and not self._project.is_class(place) else None

    def _above(self, method: str, cls: Reached) -> Reached | None:
        """The method that a class inherits."""
        above = self._inheritance.chain(cls)[1:]
        return next(((place[0], f"{place[1]}.{method}") for place, found in above if method in found.methods), None)

    def _found(self, place: Reached) -> tuple[Reached, str] | None:
        """Where the text of a function stands, and that."""
        path, qualified = place
        owner, _, method = qualified.partition(".")
        if method:
            chain = self._inheritance.chain((path, owner))
            found = ((at, cls.methods[method]) for at, cls in chain if method in cls.methods)
            return next((((at[0], f"{at[1]}.{method}"), text) for at, text in found), None)
        outline = self._project.outline(path)
        text = outline.function_texts.get(qualified) if outline is not None else None
        return (place, text) if text is not None else None

    def _may_do(self, path: str, owner: Reached | None) -> bool:
        """Whether anything in a file does it, or in those that a class inherits from."""
        if self._may is None or self._file_may(path):
            return True
        return owner is not None and any(self._file_may(cls[0]) for cls, _ in self._inheritance.chain(owner))

    def _file_may(self, path: str) -> bool:
        outline = self._project.outline(path)
        if outline is None or self._may is None:
            return False
        known = self._in_files.get(path)
        if known is None or known[0] != outline.digest:
            known = self._in_files[path] = outline.digest, self._may(outline)
        return known[1]


def training(project: Imports) -> Always:
    """Which functions always train something."""
    return Always(
        project, lambda text, _: eagerness.trains(text, each=True), lambda outline: eagerness.may_train(outline.text)
    )


def eager_calls(project: Imports) -> Always:
    """Which functions always do what no compiler follows, so that it follows none that always calls them."""
    return Always(project, _is_eager)


def alone(path: str, text: str) -> Imports:
    """A project of one file."""
    project = Imports((path,))
    project.hand(path, text.encode())
    return project


def _is_bound(name: str, text: str) -> bool:
    """Whether a name is one of a function's own: a parameter, or bound in its body."""
    opened = text.find("(")
    if name in _OBJECTS or not name.isidentifier() or opened < 0 or len(re.findall(rf"\b{name}\b", text)) == 1:
        return False
    line = r"^[ \t]*+(?:\w++[ \t]*+,[ \t]*+){0,9}"
    bound = rf"{line}{name}[ \t]*+(?:(?:,[\w \t,]*+|:[^=\n(]*+)?=(?!=)|:[ \t]*+\w)"
    others = rf"\bfor [^\n]{{0,200}}?\b{name}\b[^\n(]*? in\b|\bas {name}\b|\bdef {name}\(|(?<![\w.]){name} := "
    if re.compile(f"{bound}|{others}", re.MULTILINE).search(text, opened) is not None:
        return True
    header = text[opened : closed(text, opened + 1) + 1]
    return re.search(rf"[(,*\s]{name}\s*+[,:=)]", header) is not None


def _is_eager(text: str, outline: Outline) -> bool:
    there = [name for name in _outside(tuple(outline.imports.items())) if name in text and not _is_bound(name, text)]
    if not there:
        return eagerness.is_always_eager(text)
    names = "|".join(map(re.escape, there))
    numbers = rf"\.(?:{'|'.join(sorted(operators().regions['array_numbers']))})\b"
    calls = re.compile(rf"(?<![\w.])(?:{names})\b(?!{numbers})[\w.]*+\(")
    # what stands behind a library's being there runs wherever it is
    text = re.sub(rf"\b(?:el)?if (?=(?:{names}) is not None:)", "with ", text)
    return eagerness.is_always_eager(text, (("(", calls),))


@lru_cache(maxsize=64)
def _outside(imports: tuple[tuple[str, Imported], ...]) -> list[str]:
    """What a file imports from libraries that no compiler follows."""
    known = operators().regions
    libraries = (known["drawing_libraries"] | known["array_libraries"]) - known["traced_libraries"]
    return sorted(
        name for name, way in imports if not way.level and (way.module or way.name).partition(".")[0] in libraries
    )


def reaching(
    start: Node,
    does: Callable[[Node], bool],
    calls: Callable[[Node], Iterable[Node]],
    known: Callable[[Node], bool | None],
) -> Mapping[Node, bool]:
    """Whether the start, and each node that is gone through for that, leads to one that does.

    Each is gone through once: those that lead to each other are found together (Tarjan's algorithm).
    """
    order: dict[Node, int] = {}
    lowest: dict[Node, int] = {}
    found: dict[Node, bool] = {}
    closed: dict[Node, bool] = {}
    unfinished: list[Node] = []
    waiting: list[tuple[Node, Iterator[Node]]] = []

    def begin(node: Node) -> None:
        order[node] = lowest[node] = len(order)
        found[node] = does(node)
        unfinished.append(node)
        waiting.append((node, iter(() if found[node] else calls(node))))

    begin(start)
    while waiting:
        node, further = waiting[-1]
        target = None if found[node] else next(further, None)
        if target is not None:
            answer = closed.get(target, known(target))
            if answer is not None:
                found[node] = answer
            elif target in order:
                lowest[node] = min(lowest[node], order[target])
            else:
                begin(target)
            continue
        waiting.pop()
        if lowest[node] == order[node]:
            together = [unfinished.pop()]
            while together[-1] != node:
                together.append(unfinished.pop())
            closed |= dict.fromkeys(together, any(found[one] for one in together))
        if waiting:
            caller = waiting[-1][0]
            lowest[caller] = min(lowest[caller], lowest[node])
            found[caller] = closed.get(node, False)
    return closed
