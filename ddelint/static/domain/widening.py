"""Loops to a fixpoint: whether another pass over the body can see anything new, and what is given up to end it."""

from __future__ import annotations

from collections.abc import Mapping

from ddelint.static.domain.state import State
from ddelint.static.domain.values import (
    KNOWN,
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
)

MOST_PASSES = 6
WIDENED_FROM = 3
"""From this pass on, containers that still change are given up."""


def settled(before: State, after: State, first: bool) -> bool:
    """Whether a pass that began with `before` would be the same with `after`, the join of both ends of the body.

    After the `first` pass a value that is merely another one counts as a change: what was known of the old one may not
    hold. Later passes have seen that already.
    """
    return _same_names(before.names, after.names, first) and _same_names(before.attributes, after.attributes, first)


def _same_names(before: Mapping[str, Value], after: Mapping[str, Value], strict: bool) -> bool:
    if len(before) != len(after):
        return False
    for name, value in after.items():
        old = before.get(name)
        if old is not value and (old is None or not same(old, value, strict)):
            return False
    return True


def same(one: Value, other: Value, strict: bool) -> bool:
    """Whether two values say the same; unless `strict`, of whatever tensor or symbol."""
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, Tensor) and isinstance(other, Tensor):
        if strict:
            return one.serial == other.serial
        flags = (one.complete, one.boolean, one.literal, one.offsets)
        return (
            flags == (other.complete, other.boolean, other.literal, other.offsets)
            and _all_same(one.dims, other.dims, strict)
            and _all_same(one.tail, other.tail, strict)
        )
    if isinstance(one, Unbacked) and isinstance(other, Unbacked):
        if strict and (one.form is None or one.form != other.form):
            return False
        return (one.topic, one.offsets, one.loose) == (other.topic, other.offsets, other.loose)
    if isinstance(one, Known) and isinstance(other, Known):
        return not strict or one.form == other.form
    if isinstance(one, Series) and isinstance(other, Series):
        if one.items is None or other.items is None:
            return (
                one.items is other.items
                and one.kind == other.kind
                and same(one.element, other.element, strict)
                and _all_same(one.head, other.head, strict)
                and _all_same(one.tail, other.tail, strict)
            )
        return _all_same(one.items, other.items, strict)
    if isinstance(one, Optional) and isinstance(other, Optional):
        return same(one.inner, other.inner, strict)
    if isinstance(one, Table) and isinstance(other, Table):
        return same(one.element, other.element, strict) and _same_names(one.entries, other.entries, strict)
    if isinstance(one, Instance) and isinstance(other, Instance):
        return one.cls is other.cls and _same_names(one.fields or {}, other.fields or {}, strict)
    return one == other


def _all_same(one: tuple[Value, ...], other: tuple[Value, ...], strict: bool) -> bool:
    return len(one) == len(other) and all(same(a, b, strict) for a, b in zip(one, other))


def widen(before: State, after: State) -> None:
    """Give up, in `after`, what still changes and could do so for ever."""
    for names, old in ((after.names, before.names), (after.attributes, before.attributes)):
        for name, value in names.items():
            if name not in old or same(old[name], value, False):
                continue
            if isinstance(value, Series):
                names[name] = Series(value.kind, None, UNKNOWN, KNOWN)
            elif isinstance(value, (Table, Instance)):
                names[name] = UNKNOWN
            elif isinstance(value, Constant):
                names[name] = KNOWN
