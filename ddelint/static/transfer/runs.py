"""Runs of values: their lengths, elements and pieces."""

from __future__ import annotations

from ddelint.static.domain.joining import alternatives, each_of, join
from ddelint.static.domain.linear import Linear, fresh_symbol
from ddelint.static.domain.values import (
    CALLABLE,
    KNOWN,
    UNKNOWN,
    Constant,
    Instance,
    Series,
    Table,
    Tensor,
    Unbacked,
    Value,
    replace,
)


def length_of(value: Value) -> Value:
    """How many elements iteration gives."""
    if isinstance(value, Series):
        return value.length
    if isinstance(value, Tensor) and value.dims:
        return value.dims[0]
    return KNOWN


def listed_length(value: Value) -> Value:
    """How many elements a list has that iteration over `value` made.

    Iteration asks for the length while tracing. Once it is told, the list is Python's own, and its length is a number.
    """
    length = length_of(value)
    return KNOWN if isinstance(length, Unbacked) else length


def element_of(value: Value) -> Value:
    """One element of an iterable: any of them."""
    if isinstance(value, Series):
        element = each_of(value)
        return _again(element)
    if isinstance(value, Tensor):
        if value.complete:
            return value.shaped(value.dims[1:]) if value.dims else value
        return value.shaped(value.dims[1:], False)
    if isinstance(value, Unbacked) and value.group is not None:
        return _again(value)
    return UNKNOWN


def _again(value: Value) -> Value:
    """Another element of the same kind: a symbol or tensor of its own."""
    if isinstance(value, Unbacked) and value.form is not None:
        return replace(value, form=Linear.of(fresh_symbol()))
    if isinstance(value, Tensor):
        return value.renewed()
    if isinstance(value, Series) and value.items is not None:
        return replace(value, items=tuple(_again(item) for item in value.items))
    if isinstance(value, Instance) and value.fields is not None:
        return replace(value, fields={name: _again(item) for name, item in value.fields.items()})
    return value


def picked(table: Table) -> Value:
    """What an entry is whose key is known while tracing, though not here: one of several functions, say."""
    if not table.entries or any(not isinstance(entry, CALLABLE) for entry in table.entries.values()):
        return table.element
    return alternatives(table.entries.values())


def with_element(owner: Series, index: Value, value: Value) -> Series:
    """The run after `owner[index] = value`."""
    items = owner.items
    position = index.value if isinstance(index, Constant) and type(index.value) is int else None
    if items is not None and position is not None and -len(items) <= position < len(items):
        at = position % len(items)
        return replace(owner, items=(*items[:at], value, *items[at + 1 :]))
    return Series(owner.kind, None, join(each_of(owner), value), owner.length, owner.modules)


def hashable(value: object) -> bool:
    """Whether a literal is a key that entries of a table are known by."""
    return isinstance(value, (str, int, float, bool, bytes, type(None)))
