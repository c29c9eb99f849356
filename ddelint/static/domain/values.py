"""Abstract values: what the static pass knows of a value without running the program.

Unknown stays unknown: a value is only called a tensor, or unbacked, where the source says so.

No value is ever changed. They are not declared as frozen, because making a frozen one costs four times as much, and
millions are made.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from ddelint.static.domain.definitions import ClassInfo
from ddelint.static.domain.linear import SERIALS, Comparison, Linear

_V = TypeVar("_V")


def replace(value: _V, **changes: Any) -> _V:
    """`dataclasses.replace` of a dataclass with slots, at a third of its cost."""
    kind: Any = type(value)
    fields = {name: getattr(value, name) for name in kind.__slots__}
    fields.update(changes)
    return kind(**fields)  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a value's way: the node, and a sentence for the reader. Linked from the sink to the source."""

    node: ast.AST
    sentence: str
    before: Step | None = None


class Value:
    """Anything the interpreter can hold."""

    __slots__ = ()


@dataclass(slots=True, unsafe_hash=True)
class Unknown(Value):
    """Nothing is known."""


UNKNOWN = Unknown()


@dataclass(slots=True, unsafe_hash=True)
class Constant(Value):
    """A literal: its value stands in the source."""

    value: Any

    @property
    def form(self) -> Linear | None:
        """The number as a linear form."""
        return Linear((), self.value) if type(self.value) is int else None


NONE = Constant(None)


@dataclass(slots=True, unsafe_hash=True)
class Known(Value):
    """Known while tracing, though not here: a Python number, a flag, the (backed) size of an input."""

    form: Linear | None = None


KNOWN = Known()


@dataclass(slots=True, unsafe_hash=True)
class Unbacked(Value):
    """A number that only exists at run time.

    `topic` is size, number or bool (see classification.VALUE_KINDS); `birth` the node that made it; `group` names
    values that were read together (one `tolist()`).
    """

    topic: str
    birth: ast.expr
    form: Linear | None = None
    comparisons: tuple[Comparison, ...] = ()
    """For a truth value: the comparisons that it is the conjunction of."""
    trail: Step | None = None
    group: ast.expr | None = None
    offsets: bool = False
    """Whether the value was read from running totals."""
    loose: bool = False
    """Computed with something unknown: it may as well be a tensor, which would ask all the same."""


@dataclass(slots=True, unsafe_hash=True)
class Content:
    """What is known of a tensor's elements: bounds (inclusive; `high` may be a size), and whether they ascend."""

    low: float = -math.inf
    high: Linear | None = None
    why: str = ""
    ascending: bool = False


@dataclass(slots=True, unsafe_hash=True)
class Tensor(Value):
    """A tensor. `dims` are the known leading dimensions (Constant, Known or Unbacked); `complete`: there are no more.

    Two tensors are never the same by accident: `serial` distinguishes them.
    """

    dims: tuple[Value, ...] = ()
    complete: bool = False
    boolean: bool | None = None
    literal: bool = False
    """Built from Python literals: the compiler knows its content."""
    offsets: bool = False
    """Holds running totals (the result of a cumulative sum)."""
    content: Content | None = None
    trail: Step | None = None
    serial: int = field(default_factory=SERIALS.__next__)
    outline: int = field(default_factory=SERIALS.__next__)
    """Two tensors with the same outline have the same shape, whatever that is."""

    @property
    def scalar(self) -> bool:
        """Whether it surely has no dimension."""
        return self.complete and not self.dims

    @property
    def unbacked_dims(self) -> tuple[Unbacked, ...]:
        """The dimensions that depend on data."""
        return tuple(d for d in self.dims if isinstance(d, Unbacked))

    def shaped(self, dims: tuple[Value, ...], complete: bool = True) -> Tensor:
        """A new tensor like this one with other dimensions."""
        return Tensor(dims, complete, self.boolean, False, self.offsets, self.content, self.trail)

    def renewed(self) -> Tensor:
        """The same knowledge about another tensor of the same shape."""
        return Tensor(
            self.dims, self.complete, self.boolean, False, self.offsets, None, self.trail, next(SERIALS), self.outline
        )


@dataclass(slots=True, unsafe_hash=True)
class Series(Value):
    """A list, tuple or other run of values; `items` where each is known, else `element` stands for all."""

    kind: str = "list"
    items: tuple[Value, ...] | None = None
    element: Value = UNKNOWN
    length: Value = KNOWN
    """Constant, Known, or Unbacked."""
    modules: bool = False

    @property
    def each(self) -> Value:
        """What any element may be."""
        if self.items is None:
            return self.element
        result: Value | None = None
        for item in self.items:
            result = item if result is None else join(result, item)
        return UNKNOWN if result is None else result


def series(items: tuple[Value, ...], kind: str = "list") -> Series:
    """A run whose elements are all known."""
    return Series(kind, items, UNKNOWN, Constant(len(items)))


@dataclass(slots=True)
class Table(Value):
    """A dict: values by constant key, and what any other key may give."""

    entries: Mapping[Any, Value] = field(default_factory=dict)
    element: Value = UNKNOWN


@dataclass(slots=True, unsafe_hash=True)
class Optional(Value):
    """Either None or `inner`."""

    inner: Value


@dataclass(slots=True, unsafe_hash=True)
class Instance(Value):
    """An object of a class of this file. `fields`: what it was built with, where that differs from its class's word."""

    cls: ClassInfo
    fields: Mapping[str, Value] | None = field(default=None, hash=False)


@dataclass(slots=True, unsafe_hash=True)
class ClassReference(Value):
    """A class of this file."""

    cls: ClassInfo


@dataclass(slots=True, unsafe_hash=True)
class Function(Value):
    """A function or lambda of this file, with what it closes over and the object that it is bound to."""

    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
    bound: Value | None = None
    closure: Mapping[str, Value] | None = field(default=None, compare=False)
    owner: ClassInfo | None = None
    home: object = field(default=None, compare=False)
    """The frame that defined it, whose names it sees as they are when it is called."""


@dataclass(slots=True, unsafe_hash=True)
class Method(Value):
    """A method of a tensor, list or dict, looked up but not yet called."""

    receiver: Value
    name: str


@dataclass(slots=True, unsafe_hash=True)
class Path(Value):
    """Something imported (or a built-in), by its full dotted name."""

    name: str


@dataclass(slots=True, unsafe_hash=True)
class Partial(Value):
    """A function with its first arguments given."""

    function: Value
    arguments: tuple[Value, ...]


@dataclass(slots=True, unsafe_hash=True)
class Parent(Value):
    """`super()` inside a method of `cls`."""

    cls: ClassInfo
    bound: Value


@dataclass(slots=True, unsafe_hash=True)
class Module(Value):
    """A module of torch's own, or of a class that is not in this file."""

    path: str = ""


def bare(value: Value) -> Value:
    """The value without its "or None"."""
    return value.inner if isinstance(value, Optional) else value


def form_of(value: Value) -> Linear | None:
    """A number's linear form, where it has one."""
    return value.form if isinstance(value, (Constant, Known, Unbacked)) else None


def join(first: Value, second: Value) -> Value:
    """What a value may be that is one of two. What asks on one path asks: the unbacked one wins."""
    if first is second:
        return first
    if type(first) is Tensor and type(second) is Tensor:
        return first if first.serial == second.serial and first == second else _join_tensors(first, second)
    if first == second:
        return first
    for one, other in ((first, second), (second, first)):
        if isinstance(one, Optional):
            inner = other.inner if isinstance(other, Optional) else other
            if inner == NONE:
                return one
            joined = join(one.inner, inner)
            return joined if joined == UNKNOWN else Optional(joined)
        if one == NONE and isinstance(other, (Tensor, Unbacked, Series, Table, Instance)):
            return Optional(other)
    if isinstance(first, Unbacked) and isinstance(second, Unbacked):
        same_form = first.form if first.form == second.form else None
        topic = first.topic if first.topic == second.topic else "number"
        return replace(first, topic=topic, form=same_form, comparisons=(), offsets=first.offsets or second.offsets)
    if isinstance(first, Tensor) and isinstance(second, Tensor):
        return _join_tensors(first, second)
    if isinstance(first, Series) and isinstance(second, Series):
        return _join_series(first, second)
    if isinstance(first, Instance) and isinstance(second, Instance) and first.cls is second.cls:
        return _join_instances(first, second)
    if isinstance(first, Table) and isinstance(second, Table):
        return _join_tables(first, second)
    for one, other in ((first, second), (second, first)):
        if isinstance(one, Unbacked) and not isinstance(other, Tensor):
            return replace(one, form=None, comparisons=())
    if isinstance(first, Series) or isinstance(second, Series):
        return UNKNOWN  # a tensor or a list of them: what comes next distinguishes them
    for one in (first, second):
        if isinstance(one, Tensor):
            # `flag and t.any()`: on one path it is a tensor
            return one.shaped(one.dims if one.unbacked_dims else (), False)
    if isinstance(first, (Constant, Known)) and isinstance(second, (Constant, Known)):
        return UNKNOWN if NONE in (first, second) else KNOWN
    return UNKNOWN


def _join_tensors(first: Tensor, second: Tensor) -> Tensor:
    boolean = first.boolean if first.boolean == second.boolean else None
    trail = first.trail if first.unbacked_dims or not second.unbacked_dims else second.trail
    if len(first.dims) == len(second.dims) and first.complete and second.complete:
        dims = tuple(join(a, b) for a, b in zip(first.dims, second.dims, strict=True))
        complete = True
    else:
        shorter, longer = sorted((first, second), key=lambda tensor: len(tensor.dims))
        shared = len(shorter.dims)
        merged = [join(a, b) for a, b in zip(shorter.dims, longer.dims, strict=False)]
        if not shorter.complete:
            # nothing is known of these dimensions on one path, and on the other they may depend on data
            merged += [size if isinstance(size, Unbacked) else KNOWN for size in longer.dims[shared:]]
        dims = tuple(merged)
        complete = False
    return Tensor(dims, complete, boolean, offsets=first.offsets or second.offsets, trail=trail)


def _join_instances(first: Instance, second: Instance) -> Instance:
    one, other = first.fields, second.fields
    if one is None or other is None:
        return Instance(first.cls)
    return Instance(first.cls, {name: join(one[name], other[name]) for name in one if name in other})


def _join_tables(first: Table, second: Table) -> Table:
    entries = {key: join(value, second.entries[key]) for key, value in first.entries.items() if key in second.entries}
    whole = len(entries) == len(first.entries) == len(second.entries)
    return Table(entries, join(first.element, second.element) if whole else UNKNOWN)


def _join_series(first: Series, second: Series) -> Series:
    kind = first.kind if first.kind == second.kind else "list"
    modules = first.modules and second.modules
    if first.items is not None and second.items is not None and len(first.items) == len(second.items):
        items = tuple(join(a, b) for a, b in zip(first.items, second.items, strict=True))
        return Series(kind, items, UNKNOWN, first.length, modules)
    if first.items == ():
        element = second.each
    elif second.items == ():
        element = first.each
    else:
        element = join(first.each, second.each)
    return Series(kind, None, element, join(first.length, second.length), modules)
