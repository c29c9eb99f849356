"""What calls of functions came to: a function called again with arguments of the same kind is not interpreted again.

A summary is kept where the call left nothing behind but its result: no attribute, no fact about what came in. Where it
is used again, tensors and numbers that the function made are made anew, and arguments that it handed on are the new
ones.
"""

from __future__ import annotations

import ast
from collections.abc import Hashable, Mapping
from dataclasses import dataclass

from ddelint.static.domain.facts import UNBOUNDED, Bounds, Facts
from ddelint.static.domain.linear import Linear, fresh_symbol
from ddelint.static.domain.values import (
    UNKNOWN,
    Alternatives,
    ClassReference,
    Constant,
    Function,
    Instance,
    Known,
    Module,
    Optional,
    Parent,
    Path,
    Series,
    Several,
    Table,
    Tensor,
    Unbacked,
    Value,
    replace,
)

Key = tuple[Hashable, ...]


class _OpenError(Exception):
    """What is known of the value does not set it apart from others."""


class Signature:
    """The kind of a call's arguments, as something to compare; `key` is None where that is not possible.

    `apart`: nothing is known of the numbers that were read, nor of how one of them stands to another.
    """

    __slots__ = ("_apart", "key", "numbers")

    def __init__(self, definition: ast.AST, names: Mapping[str, Value], quiet: bool, *, apart: bool = False) -> None:
        self._apart = apart
        self.numbers: dict[int, int] = {}
        """Serials and outlines of the arguments' tensors, in the order in which they are met."""
        self.key: Key | None
        try:
            self.key = (definition, quiet, *((name, self._of(value)) for name, value in names.items()))
        except _OpenError:
            self.key = None

    def _number(self, identity: int) -> int:
        return self.numbers.setdefault(identity, len(self.numbers))

    def _of(self, value: Value) -> Hashable:
        if value is UNKNOWN:
            return None
        match value:
            case Tensor():
                dims = tuple(map(self._of, value.dims))
                flags = (value.complete, value.boolean, value.literal, value.offsets)
                tail = tuple(map(self._of, value.tail))
                return "tensor", dims, tail, flags, self._number(value.serial), self._number(value.outline)
            case Constant(value=content):
                if not isinstance(content, Hashable):
                    raise _OpenError
                return "constant", type(content), content
            case Known(form=form):
                return "known", form is None
            case Unbacked(topic=topic, offsets=offsets) if self._apart:
                return "read", topic, offsets
            case Series(kind=kind, items=items, element=element, length=length, modules=modules):
                each = None if items is None else tuple(map(self._of, items))
                known = tuple(tuple(map(self._of, part)) for part in (value.head, value.tail))
                return "series", kind, each, self._of(element), self._of(length), modules, known
            case Table(entries=entries, element=element):
                return "table", tuple((name, self._of(item)) for name, item in entries.items()), self._of(element)
            case Instance(cls=cls, fields=fields):
                given = None if fields is None else tuple((name, self._of(item)) for name, item in fields.items())
                return "instance", cls, given
            case Optional(inner=inner):
                return "optional", self._of(inner)
            case Alternatives(options=options):
                return "alternatives", tuple(map(self._of, options))
            case Several():
                return "several"
            case Module(path=path) | Path(name=path):
                return type(value).__name__, path
            case ClassReference(cls=cls):
                return "class", cls
            case Parent(cls=cls, bound=bound):
                return "parent", cls, self._of(bound)
            case Function(node=node, bound=bound, closure=None):
                return "function", node, None if bound is None else self._of(bound)
        raise _OpenError


@dataclass(slots=True)
class _Summary:
    returned: Value
    numbers: tuple[int, ...]
    floor: int
    """Serials up to this one were there before the call."""
    bounds: dict[int, Bounds]
    memos: dict[int, tuple[int, object]]
    """Symbols that belong to an argument: the size of a dimension, how many of its elements are not zero."""


class Summaries:
    """The summaries of one file. `derived` names symbols by what they were derived from, as the interpreter does."""

    def __init__(self, derived: dict[object, int]) -> None:
        self._kept: dict[Key, _Summary] = {}
        self._derived = derived

    def find(self, signature: Signature, facts: Facts) -> Value | None:
        """The result of such a call, as if it had just been made; None where none was kept."""
        if signature.key is None:
            return None
        summary = self._kept.get(signature.key)
        if summary is None:
            return None
        renamed = dict(zip(summary.numbers, signature.numbers))
        return _Renewal(renamed, summary, facts, self._derived).of(summary.returned)

    def keep(self, signature: Signature, returned: Value, floor: int, facts: Facts) -> None:
        """Remember what a call came to."""
        if signature.key is None:
            return
        own = {symbol for symbol in _symbols(returned) if symbol > floor}
        bounds = {s: known for s in own if (known := facts.bounds(Linear.of(s))) != UNBOUNDED}
        memos: dict[int, tuple[int, object]] = {}
        for origin, symbol in self._derived.items() if own else ():
            if symbol in own and isinstance(origin, tuple) and len(origin) == 2 and origin[0] in signature.numbers:
                memos[symbol] = origin
        self._kept[signature.key] = _Summary(returned, tuple(signature.numbers), floor, bounds, memos)


class _Renewal:
    """Gives a result's own tensors and symbols new names, the same new one for the same old one."""

    def __init__(self, renamed: dict[int, int], summary: _Summary, facts: Facts, derived: dict[object, int]) -> None:
        self._renamed = renamed
        self._derived = derived
        self._summary = summary
        self._facts = facts

    def _number(self, old: int) -> int:
        new = self._renamed.get(old)
        if new is None:
            if old in self._summary.memos:
                argument, what = self._summary.memos[old]
                new = self._derived.setdefault((self._number(argument), what), fresh_symbol())
            else:
                new = fresh_symbol() if old > self._summary.floor else old
            self._renamed[old] = new
            if new != old and (bounds := self._summary.bounds.get(old)) is not None:
                self._facts.learn_bounds(Linear.of(new), bounds)
        return new

    def _form(self, form: Linear) -> Linear:
        return Linear(tuple(sorted((self._number(s), c) for s, c in form.terms)), form.constant)

    def of(self, value: Value) -> Value:
        """The value with what is new in it made anew."""
        match value:
            case Tensor():
                dims, tail = (tuple(map(self.of, part)) for part in (value.dims, value.tail))
                serial, outline = self._number(value.serial), self._number(value.outline)
                return replace(value, dims=dims, tail=tail, serial=serial, outline=outline)
            case Known(form=form):
                return value if form is None else Known(self._form(form))
            case Unbacked():
                links = tuple(replace(c, difference=self._form(c.difference)) for c in value.comparisons)
                form = None if value.form is None else self._form(value.form)
                return replace(value, form=form, comparisons=links)
            case Series():
                items = None if value.items is None else tuple(map(self.of, value.items))
                head, tail = (tuple(map(self.of, part)) for part in (value.head, value.tail))
                element, length = self.of(value.element), self.of(value.length)
                return replace(value, items=items, element=element, length=length, head=head, tail=tail)
            case Table(entries=entries, element=element):
                return Table({name: self.of(item) for name, item in entries.items()}, self.of(element))
            case Instance(fields=fields) if fields is not None:
                return replace(value, fields={name: self.of(item) for name, item in fields.items()})
            case Optional(inner=inner):
                return Optional(self.of(inner))
        return value


def _symbols(value: Value) -> set[int]:
    """The symbols of the numbers in a result."""
    found: set[int] = set()
    waiting = [value]
    while waiting:
        match waiting.pop():
            case Known(form=form) | Unbacked(form=form):
                if form is not None:
                    found |= {symbol for symbol, _ in form.terms}
            case Tensor(dims=dims, tail=tail):
                waiting += (*dims, *tail)
            case Series(items=items, element=element, length=length, head=head, tail=tail):
                waiting += (*(items or ()), element, length, *head, *tail)
            case Table(entries=entries, element=element):
                waiting += (*entries.values(), element)
            case Instance(fields=fields):
                waiting += (fields or {}).values()
            case Optional(inner=inner):
                waiting.append(inner)
    return found
