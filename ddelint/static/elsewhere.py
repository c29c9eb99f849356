"""What a function of another file returns: it is interpreted there, with arguments of the kind that are passed.

Nothing of the other file gets out but tensors, numbers and runs of them, each of which is then the call's own: a
finding stands where the value is used, and its way back begins at the call. Nothing is recorded over there; what a
function asks itself is found when its own file is read.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace as changed
from functools import reduce

from ddelint.knowledge.operators import operators
from ddelint.sources.parsing import TOO_DEEP
from ddelint.sources.source import SourceError, SourceFile
from ddelint.static.domain.joining import join
from ddelint.static.domain.linear import Linear, fresh_symbol
from ddelint.static.domain.summaries import Signature
from ddelint.static.domain.values import (
    KNOWN,
    UNKNOWN,
    Constant,
    Function,
    Known,
    Optional,
    Series,
    Step,
    Table,
    Tensor,
    Unbacked,
    Value,
    replace,
)
from ddelint.static.program.context import Context
from ddelint.static.program.declared import Outline
from ddelint.static.program.imports import Consulted, forget
from ddelint.static.program.outline import outlined
from ddelint.static.program.project import Project
from ddelint.static.program.regions import FileIndex
from ddelint.static.walk.following import demanding, gives_data, gives_tensors, has_rank
from ddelint.static.walk.interpreter import Interpreter
from ddelint.static.walk.walker import BudgetError

STEPS = 4_000
"""Nodes evaluated for one answer."""
LINES = 40
"""Longer functions are interpreted only where their text, or that of what they call, may read data."""
DEEPEST = 2
"""A function of another file that returns what a function of a third one returns."""
REMEMBERED = 128
"""Files whose trees are kept."""

_WORD = re.compile(r"\w++")

_GIVEN = ast.Constant(None, lineno=0, col_offset=0)
"""Where a number comes from that the call brings along: from no line over there."""
_ANYTHING = (Unbacked("number", _GIVEN),)
"""What stands for a result of which nothing is known."""


class Elsewhere:
    """Answers for the files of one project, each with the files that it rests on."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._settled = len(project.changes)
        """How many of the changes of files have been taken into account."""
        self._indexes: dict[str, tuple[FileIndex | None, Consulted]] = {}
        self._idle: dict[tuple[FileIndex, int], tuple[Interpreter, Consulted]] = {}
        """By file and depth: what has read functions of it, and knows what they came to, while it reads none."""
        self._answers: dict[object, tuple[Sequence[Value], Consulted]] = {}
        self._telling: dict[tuple[str, str], bool] = {}
        """Function, by its file's digest → whether it may tell if it is compiled."""
        self._active: list[tuple[str, str]] = []
        self._recursions = 0
        """How many calls were refused because what they call is being interpreted."""

    def returned(
        self,
        importer: str,
        name: str,
        arguments: Sequence[Value],
        keywords: Mapping[str, Value],
        node: ast.Call,
    ) -> Value:
        """What a call in the file `importer` gives; UNKNOWN where it is of nothing here, or leads too far."""
        self._settle()
        project = self._project
        place = project.resolve(importer, name)
        if not isinstance(place, tuple) or place[0] == importer:
            return UNKNOWN
        if place in self._active:
            self._recursions += 1
            return UNKNOWN
        if len(self._active) >= DEEPEST or any(isinstance(argument, ast.Starred) for argument in node.args):
            return UNKNOWN
        outline = project.outline(place[0])
        text = outline.function_texts.get(place[1], "") if outline is not None else ""
        if outline is None or not text:
            return UNKNOWN
        passed = (*arguments, *keywords.values())
        carried = any(map(demanding, passed))  # what comes in may come out again
        if not (project.calls.may_ask(place) or (carried and text.count("\n") <= LINES) or self._tells(place, outline)):
            return UNKNOWN
        spread = any(keyword.arg is None for keyword in node.keywords)
        home = _Home(node, place)
        if not carried and not any(gives_data(value) or has_rank(value) for value in passed):
            usual = self._usual(place)
            joined = reduce(join, usual)
            # where little is known of them together, what it is given may say which one it returns
            if not any(map(gives_data, usual)) and (joined != UNKNOWN or all(value == UNKNOWN for value in usual)):
                return home.of(joined)
        positional = [_abroad(value) for value in arguments]
        named = {keyword: _abroad(value) for keyword, value in keywords.items()}
        return home.of(self._answer(place, positional, named, node, spread))

    def kinds(self, importer: str, name: str) -> tuple[bool, bool]:
        """Whether a call of `name(…)` in the file `importer` may give what depends on data; and at least a tensor."""
        self._settle()
        place = self._project.resolve(importer, name)
        usual = self._usual(place) if isinstance(place, tuple) else _ANYTHING
        return any(map(gives_data, usual)), any(map(gives_tensors, usual))

    def _tells(self, place: tuple[str, str], outline: Outline) -> bool:
        """Whether a function may tell if it is compiled: a package's own name for `torch.compiler.is_compiling`."""
        key = outline.digest, place[1]
        if key not in self._telling:
            text = outline.function_texts[place[1]]
            names = _WORD.findall(text) if text.count("\n") <= LINES else ()
            imported = (outline.imports[name].name for name in names if name in outline.imports)
            self._telling[key] = not operators().while_compiling.keys().isdisjoint((*names, *imported))
        return self._telling[key]

    def _settle(self) -> None:
        """Forget what rests on files that have changed."""
        for path in self._project.changes[self._settled :]:
            forget(path, self._indexes, self._idle, self._answers)
        self._settled = len(self._project.changes)

    def _usual(self, place: tuple[str, str]) -> Sequence[Value]:
        """What a function gives, by each of its returns, where only its declaration says what it is given.

        Where that does not say it, a read number stands for what it may give.
        """
        index = self._index(place[0])
        definition = index.functions.get(place[1]) if index is not None else None
        if index is None or definition is None:
            return _ANYTHING

        def interpret(interpreter: Interpreter) -> Sequence[Value]:
            return interpreter.usually_returned(Function(definition), STEPS) or _ANYTHING

        return self._kept(place, index, (place, "usual"), interpret, _ANYTHING)

    def _answer(
        self, place: tuple[str, str], positional: list[Value], named: dict[str, Value], node: ast.Call, spread: bool
    ) -> Value:
        index = self._index(place[0])
        definition = index.functions.get(place[1]) if index is not None else None
        if index is None or definition is None:
            return UNKNOWN
        names = {**{str(number): value for number, value in enumerate(positional)}, **dict(sorted(named.items()))}

        def interpret(interpreter: Interpreter) -> Sequence[Value]:
            return [interpreter.returned(Function(definition), positional, named, node, STEPS)]

        return self._kept(place, index, Signature(definition, names, spread, apart=True).key, interpret, (UNKNOWN,))[0]

    def _kept(
        self,
        place: tuple[str, str],
        index: FileIndex,
        key: Hashable,
        interpret: Callable[[Interpreter], Sequence[Value]],
        failing: Sequence[Value],
    ) -> Sequence[Value]:
        """What interpreting a function comes to, once for each key; `failing`: where that leads too far."""
        depth = len(self._active)  # how deep it stands decides what it may follow itself
        known = self._answers.get((depth, key)) if key is not None else None
        project, recursions = self._project, self._recursions
        if known is None:
            before, project.consulted = project.consulted, {}
            self._active.append(place)
            try:
                _ = self._index(place[0])  # what it rests on
                idle = self._idle.pop((index, depth), None)
                interpreter, known_from = idle if idle is not None else (Interpreter(index), {})
                project.consulted.update(known_from)  # what it knows of functions is not looked up again
                values = interpret(interpreter)
                if recursions == self._recursions:
                    self._idle[index, depth] = interpreter, dict(project.consulted)
            except (BudgetError, RecursionError, SourceError, *TOO_DEEP):
                values = failing
            finally:
                self._active.pop()
                known_from, project.consulted = project.consulted, before
            known = values, known_from
            if key is not None and recursions == self._recursions:  # what a recursion has cut short is not for keeps
                self._answers[depth, key] = known
        values, rests_on = known
        project.consulted.update(rests_on)
        return values

    def _index(self, path: str) -> FileIndex | None:
        if path not in self._indexes:
            while len(self._indexes) >= REMEMBERED:
                forgotten, _ = self._indexes.pop(next(iter(self._indexes)))
                for known in [known for known in self._idle if known[0] is forgotten]:
                    del self._idle[known]
            project = self._project
            before, project.consulted = project.consulted, {}
            try:
                self._indexes[path] = self._read(path), project.consulted
            finally:
                project.consulted = before
        index, rests_on = self._indexes[path]
        self._project.consulted.update(rests_on)
        return index

    def _read(self, path: str) -> FileIndex | None:
        outline = self._project.outline(path)
        if outline is None:
            return None
        try:
            context = Context(aliases=self._project.aliases(path), elsewhere=self)
            return FileIndex(outlined(SourceFile(path, outline.text)), context)
        except (SourceError, RecursionError, *TOO_DEEP):
            return None


def _abroad(value: Value) -> Value:
    """What of a value another file's function gets to know: the same for all values of a kind."""
    match value:
        case Tensor():
            dims, tail = (tuple(map(_abroad, part)) for part in (value.dims, value.tail))
            return Tensor(dims, value.complete, value.boolean, value.literal, value.offsets, tail=tail)
        case Constant():
            return value
        case Known(form=form):
            return KNOWN if form is None else Known(Linear.of(fresh_symbol()))
        case Unbacked():
            return Unbacked(value.topic, _GIVEN, Linear.of(fresh_symbol()), offsets=value.offsets)
        case Series():
            items = None if value.items is None else tuple(map(_abroad, value.items))
            head, tail = (tuple(map(_abroad, part)) for part in (value.head, value.tail))
            return Series(value.kind, items, _abroad(value.element), _abroad(value.length), head=head, tail=tail)
        case Optional(inner=inner):
            known = _abroad(inner)
            return known if known is UNKNOWN else Optional(known)
    return UNKNOWN


class _Home:
    """What of a result gets back, as something that the call has made."""

    def __init__(self, node: ast.Call, place: tuple[str, str]) -> None:
        self._node = node
        self._place = place
        self._renamed: dict[int, int] = {}

    def _number(self, old: int) -> int:
        return self._renamed.setdefault(old, fresh_symbol())

    def _form(self, form: Linear | None) -> Linear | None:
        if form is None:
            return None
        return Linear(tuple(sorted((self._number(s), c) for s, c in form.terms)), form.constant)

    def _step(self, trail: Step | None, birth: ast.AST | None) -> Step:
        """The last step over there says best what the value is."""
        while trail is not None and trail.before is not None:
            trail = trail.before
        file, name = self._place
        row = getattr(birth, "lineno", 0)
        where = f"{os.path.basename(file)}, line {row}" if row else os.path.basename(file)
        says = operators().says["elsewhere"].format(name=name, where=where)
        return Step(self._node, f"{says}: {trail.sentence}" if trail is not None and row else says)

    def of(self, value: Value) -> Value:
        match value:
            case Tensor():
                dims, tail = (tuple(map(self.of, part)) for part in (value.dims, value.tail))
                size = next(iter(value.unbacked_dims), None)
                trail = None if size is None else self._step(value.trail or size.trail, size.birth)
                return replace(
                    value,
                    dims=dims,
                    tail=tail,
                    content=None,
                    trail=trail,
                    serial=self._number(value.serial),
                    outline=self._number(value.outline),
                )
            case Constant():
                return value
            case Known():
                return KNOWN
            case Unbacked():
                comparisons = tuple(
                    changed(c, difference=form)
                    for c in value.comparisons
                    if (form := self._form(c.difference)) is not None
                )
                trail = self._step(value.trail, value.birth)
                group = None if value.group is None else self._node
                return replace(
                    value,
                    birth=self._node,
                    form=self._form(value.form),
                    comparisons=comparisons,
                    trail=trail,
                    group=group,
                )
            case Series():
                items = None if value.items is None else tuple(map(self.of, value.items))
                head, tail = (tuple(map(self.of, part)) for part in (value.head, value.tail))
                return Series(value.kind, items, self.of(value.element), self.of(value.length), head=head, tail=tail)
            case Table(entries=entries, element=element):
                return Table({key: self.of(item) for key, item in entries.items()}, self.of(element))
            case Optional(inner=inner):
                known = self.of(inner)
                return known if known is UNKNOWN else Optional(known)
        return UNKNOWN
