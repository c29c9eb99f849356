"""Abstract values: what the static pass knows of a value without running the program.

Unknown stays unknown: a value is only called a tensor, or unbacked, where the source says so.

No value is ever changed. They are not declared as frozen, because making a frozen one costs four times as much, and
millions are made.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping, Sequence
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
    tail: tuple[Value, ...] = ()
    """The known last dimensions, where others lie before them, nobody knows how many."""

    @property
    def scalar(self) -> bool:
        """Whether it surely has no dimension."""
        return self.complete and not self.dims

    @property
    def unbacked_dims(self) -> tuple[Unbacked, ...]:
        """The dimensions that depend on data."""
        return tuple(d for d in (*self.dims, *self.tail) if isinstance(d, Unbacked))

    def shaped(self, dims: tuple[Value, ...], complete: bool = True) -> Tensor:
        """A new tensor like this one with other dimensions."""
        return Tensor(dims, complete, self.boolean, False, self.offsets, self.content, self.trail)

    def renewed(self) -> Tensor:
        """The same knowledge about another tensor of the same shape."""
        return Tensor(
            self.dims,
            self.complete,
            self.boolean,
            False,
            self.offsets,
            None,
            self.trail,
            next(SERIALS),
            self.outline,
            self.tail,
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
    head: tuple[Value, ...] = ()
    """Where not each is known: the first ones that are."""
    tail: tuple[Value, ...] = ()
    """Likewise the last ones."""


def spread(value: Value) -> tuple[Value, ...]:
    """What `*value` puts among the arguments of a call."""
    value = bare(value)
    if not isinstance(value, Series):
        return (Several(),)
    return value.items if value.items is not None else (*value.head, Several(), *value.tail)


def ends(values: Sequence[Value]) -> tuple[tuple[Value, ...], tuple[Value, ...] | None]:
    """A call's arguments before the first `*values` of unknown count, and those behind the last one; None: no such."""
    places = [position for position, value in enumerate(values) if isinstance(value, Several)]
    if not places:
        return tuple(values), None
    return tuple(values[: places[0]]), tuple(values[places[-1] + 1 :])


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
class Alternatives(Value):
    """One of several things to call, picked by a flag, a key or a name: which one is known while tracing, not here."""

    options: tuple[Value, ...]


@dataclass(slots=True, unsafe_hash=True)
class Several(Value):
    """Among a call's arguments: values from `*values`, nobody knows how many."""


@dataclass(slots=True, unsafe_hash=True)
class Parent(Value):
    """`super()` inside a method of `cls`."""

    cls: ClassInfo
    bound: Value


@dataclass(slots=True, unsafe_hash=True)
class Module(Value):
    """A module of torch's own, or of a class that is not in this file."""

    path: str = ""


CALLABLE = (Function, Method, Partial, Path, ClassReference, Instance, Module, Alternatives)
"""What can be called."""


def bare(value: Value) -> Value:
    """The value without its "or None"."""
    return value.inner if isinstance(value, Optional) else value


def form_of(value: Value) -> Linear | None:
    """A number's linear form, where it has one."""
    return value.form if isinstance(value, (Constant, Known, Unbacked)) else None
