"""What a value may be that is one of several: where paths meet, among a run's elements, behind a key."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce

from ddelint.static.domain.values import (
    CALLABLE,
    KNOWN,
    NONE,
    UNKNOWN,
    Alternatives,
    Constant,
    Function,
    Instance,
    Known,
    Optional,
    Partial,
    Series,
    Table,
    Tensor,
    Unbacked,
    Value,
    replace,
)

MOST_ALTERNATIVES = 12
"""Of more functions none is followed."""


def each_of(run: Series) -> Value:
    """What any element of a run may be; of a shape that is not wholly known, any other than those."""
    if run.items is None:
        return run.element if run.kind == "shape" else reduce(join, (*run.head, *run.tail), run.element)
    return reduce(join, run.items) if run.items else UNKNOWN


def part_known(head: tuple[Value, ...], between: Value, tail: tuple[Value, ...], kind: str = "list") -> Series:
    """A run of which the first and the last elements are known; `between` stands for the others, however many."""
    return Series(kind, None, between, KNOWN, False, head, tail)


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
        if one == NONE and isinstance(other, (Tensor, Unbacked, Series, Table, Instance, Function, Alternatives)):
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
    for one, other in ((first, second), (second, first)):
        if isinstance(one, Series) and other == UNKNOWN and any(map(_depends, one.items or (one.element,))):
            # `return a, b` on one path, on the other what was passed: it is used as the same thing
            items = None if one.items is None else tuple(join(item, UNKNOWN) for item in one.items)
            return replace(one, items=items, element=join(one.element, UNKNOWN))
    if isinstance(first, Series) or isinstance(second, Series):
        return UNKNOWN  # a tensor or a list of them: what comes next distinguishes them
    for one in (first, second):
        if isinstance(one, Tensor):
            # `flag and t.any()`: on one path it is a tensor
            return one.shaped(one.dims if one.unbacked_dims else (), False)
    if isinstance(first, (Constant, Known)) and isinstance(second, (Constant, Known)):
        return UNKNOWN if NONE in (first, second) else KNOWN
    return alternatives((first, second))


def _depends(value: Value) -> bool:
    """Whether a value, or one of its sizes, depends on data."""
    return isinstance(value, Unbacked) or (isinstance(value, Tensor) and bool(value.unbacked_dims))


def alternatives(values: Iterable[Value]) -> Value:
    """One of several things to call, or, beside functions of the file, something unknown (`act or default`).

    UNKNOWN where one of them is nothing to call, or where they are too many.
    """
    options: list[Value] = []
    for value in values:
        for option in value.options if isinstance(value, Alternatives) else (value,):
            if not isinstance(option, CALLABLE) and option != UNKNOWN:
                return UNKNOWN
            if option not in options:
                options.append(option)
    if not options or len(options) > MOST_ALTERNATIVES:
        return UNKNOWN
    if UNKNOWN in options and not any(isinstance(option, (Function, Partial, Instance)) for option in options):
        return UNKNOWN
    return options[0] if len(options) == 1 else Alternatives(tuple(options))


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
    tail: tuple[Value, ...] = ()
    if not complete and (first.tail or second.tail):
        one, other = (tensor.dims if tensor.complete else tensor.tail for tensor in (first, second))
        tail = tuple(join(a, b) for a, b in zip(reversed(one), reversed(other)))[::-1]
    return Tensor(dims, complete, boolean, offsets=first.offsets or second.offsets, trail=trail, tail=tail)


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
        element = each_of(second)
    elif second.items == ():
        element = each_of(first)
    else:
        element = join(each_of(first), each_of(second))
    return Series(kind, None, element, join(first.length, second.length), modules)
