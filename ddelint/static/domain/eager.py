"""Values that were computed in eager, before anything is compiled."""

from __future__ import annotations

from ddelint.static.domain.values import (
    KNOWN,
    NONE,
    UNKNOWN,
    Constant,
    Instance,
    Known,
    Optional,
    Series,
    Table,
    Tensor,
    Unbacked,
    Value,
    replace,
)


def concrete(value: Value) -> Value:
    """A value that was computed in eager: numbers are numbers, but a flag's value may differ by the next call."""
    if isinstance(value, (Unbacked, Known)):
        return KNOWN
    if isinstance(value, Constant):
        return UNKNOWN if value == NONE else KNOWN
    if isinstance(value, Tensor):
        dims, tail = (
            tuple(KNOWN if isinstance(dim, Unbacked) else dim for dim in part) for part in (value.dims, value.tail)
        )
        return Tensor(dims, value.complete, value.boolean, tail=tail)
    if isinstance(value, Series):
        length = KNOWN if isinstance(value.length, Unbacked) else value.length
        if value.items is not None:
            return replace(value, items=tuple(concrete(item) for item in value.items), length=length)
        head, tail = (tuple(map(concrete, part)) for part in (value.head, value.tail))
        return replace(value, element=concrete(value.element), length=length, head=head, tail=tail)
    if isinstance(value, Table):
        return Table({key: concrete(item) for key, item in value.entries.items()}, concrete(value.element))
    if isinstance(value, Instance) and value.fields is not None:
        return replace(value, fields={name: concrete(item) for name, item in value.fields.items()})
    if isinstance(value, Optional):
        inner = concrete(value.inner)
        return UNKNOWN if inner in (UNKNOWN, KNOWN) else Optional(inner)
    return value
