"""Assignments: names, tuples taken apart, attributes, items."""

from __future__ import annotations

import ast

from ddelint.knowledge.operators import dotted_name, operators
from ddelint.static.domain.joining import join
from ddelint.static.domain.state import State
from ddelint.static.domain.values import (
    CALLABLE,
    KNOWN,
    UNKNOWN,
    Constant,
    Instance,
    Series,
    Step,
    Table,
    Tensor,
    Unbacked,
    Value,
    bare,
    replace,
    series,
)
from ddelint.static.transfer.runs import element_of, hashable, length_of, with_element
from ddelint.static.walk.functions import evidence_of
from ddelint.static.walk.indexing import stored_at
from ddelint.static.walk.records import as_series
from ddelint.static.walk.walker import Walker


def bind(walker: Walker, target: ast.expr, value: Value, state: State, origin: ast.expr | None = None) -> None:
    """Assign `value` to a target, taking it apart where the target is a tuple."""
    if isinstance(target, ast.Name):
        if isinstance(value, Unbacked) and origin is not None:
            value = _named_step(target.id, value, origin)
        elif value == UNKNOWN and isinstance(origin, (ast.Call, ast.Compare)):
            value = _by_use(walker, target.id, origin)
        state.names[target.id] = value
        if state.attributes:
            state.forget_attributes(target.id)
        if state.choices:
            state.forget_choices(target.id)
    elif isinstance(target, (ast.Tuple, ast.List)):
        _unpack(walker, target, value, state, origin)
    elif isinstance(target, ast.Starred):
        bind(walker, target.value, Series("list", None, UNKNOWN, KNOWN), state)
    elif isinstance(target, ast.Attribute):
        owner = walker.evaluate(target.value, state)
        if state.choices:
            state.forget_choices(dotted_name(target))
        if isinstance(owner, Instance) and owner.fields is not None and isinstance(target.value, ast.Name):
            state.names[target.value.id] = replace(owner, fields={**owner.fields, target.attr: value})
        elif chain := dotted_name(target):
            state.attributes[chain] = value
    elif isinstance(target, ast.Subscript):
        _store_item(walker, target, value, state)


def _by_use(walker: Walker, name: str, origin: ast.Call | ast.Compare) -> Value:
    """What a name holds of whose making nothing is known, by what the function does with it."""
    frame = walker.frames[-1]
    if not isinstance(frame.node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
        return UNKNOWN
    seen = evidence_of(walker, frame.node, frame.owner)
    if isinstance(origin, ast.Compare):
        return Tensor(boolean=True) if name in seen.array_like else UNKNOWN
    return Tensor() if name in (seen.surely if walker.uses_arrays else seen.array_like) else UNKNOWN


def _named_step(name: str, value: Unbacked, origin: ast.expr) -> Unbacked:
    trail = value.trail
    if trail is None or trail.node is origin or origin is value.birth:
        return value
    return replace(value, trail=Step(origin, f"`{name}` is computed from it", trail))


def _unpack(walker: Walker, target: ast.Tuple | ast.List, value: Value, state: State, origin: ast.expr | None) -> None:
    value = as_series(walker, bare(value))
    count = len(target.elts)
    at = next((place for place, element in enumerate(target.elts) if isinstance(element, ast.Starred)), None)
    items = value.items if isinstance(value, Series) else None
    if items is not None and (len(items) == count if at is None else len(items) >= count - 1):
        if at is not None:
            end = len(items) - (count - at - 1)
            items = (*items[:at], series(items[at:end]), *items[end:])
        for element, item in zip(target.elts, items, strict=True):
            bind(walker, element.value if isinstance(element, ast.Starred) else element, item, state, origin)
        return
    length = length_of(value)
    if isinstance(length, Unbacked) and isinstance(value, (Tensor, Series)) and origin is not None:
        walker.record(origin, "operator", length, operator=operators().iteration, parts=((origin, value),))
    for position, element in enumerate(target.elts):
        if position == at and isinstance(element, ast.Starred):
            bind(walker, element.value, _rest(value, at, count - at - 1), state, origin)
        else:
            place = position if at is None or position < at else position - count
            bind(walker, element, _part(walker, value, place, state, origin), state, origin)


def _rest(value: Value, before: int, behind: int) -> Series:
    """What `*rest` is, where so many elements before and behind it are taken away."""
    if not isinstance(value, Series) or value.items is not None:
        return Series("list", None, element_of(value), KNOWN)
    tail = value.tail[: max(len(value.tail) - behind, 0)]
    return Series("list", None, value.element, KNOWN, False, value.head[before:], tail)


def _part(walker: Walker, value: Value, place: int, state: State, origin: ast.expr | None) -> Value:
    """One of the elements of a run that is taken apart, from its end where `place` is negative."""
    if isinstance(value, Series):
        known = value.head if place >= 0 else value.tail
        if -len(known) <= place < len(known):
            return known[place]
        if value.kind == "shape" and isinstance(origin, ast.Attribute):
            tensor = bare(walker.value_of(origin.value, state))
            if isinstance(tensor, Tensor):
                return walker.numbers.size_of(tensor, place, state.facts)
        if value.items is None and (value.head or value.tail):
            return value.element
    return element_of(value)


def _store_item(walker: Walker, target: ast.Subscript, value: Value, state: State) -> None:
    owner = bare(walker.evaluate(target.value, state))
    index = bare(walker.evaluate(target.slice, state))
    root = target.value
    if isinstance(owner, Tensor):
        stored_at(walker, target, state)
        if isinstance(root, ast.Name):
            state.names[root.id] = owner.renewed()
        return
    if isinstance(owner, Series) and isinstance(index, (Unbacked, Tensor)) and not isinstance(target.slice, ast.Slice):
        walker.record(
            target, "integer", index, subject=target.slice, parts=walker.parts(target.slice, state), rule="DDE202"
        )
    if isinstance(owner, Table):
        entries = dict(owner.entries)
        element = owner.element
        if isinstance(index, Constant) and hashable(index.value):
            entries[index.value] = value
        else:
            if isinstance(index, Unbacked):
                walker.record(
                    target,
                    "failure",
                    index,
                    subject=target.slice,
                    parts=walker.parts(target.slice, state),
                    rule="DDE202",
                )
            if element != UNKNOWN or isinstance(value, CALLABLE):
                element = join(element, value)
        assign_back(root, Table(entries, element), state)
    elif isinstance(owner, Series):
        assign_back(root, with_element(owner, index, value), state)
    elif owner == UNKNOWN and (chain := entry_of(root, index)):
        state.attributes[chain] = value
    elif owner == UNKNOWN and isinstance(root, ast.Name) and not isinstance(index, Constant):
        state.forget_entries(root.id)


def entry_of(root: ast.expr, index: Value) -> str:
    """What the entry of a name is kept as that holds something unknown, behind a text: empty where there is none."""
    if isinstance(root, ast.Name) and isinstance(index, Constant) and isinstance(index.value, str):
        return f"{root.id}.{index.value!r}"
    return ""


def assign_back(root: ast.expr, value: Value, state: State) -> None:
    """What a name or attribute holds was changed: `value` is what it holds now."""
    if isinstance(root, ast.Name):
        state.names[root.id] = value
    elif isinstance(root, ast.Attribute) and (chain := dotted_name(root)):
        state.attributes[chain] = value


def iterated(walker: Walker, node: ast.expr, value: Value, state: State) -> None:
    """Iteration over `value`: its length must be known while tracing."""
    value = bare(value)
    length = length_of(value)
    if isinstance(value, Tensor) and isinstance(length, Unbacked):
        walker.record(node, "operator", length, operator=operators().iteration, parts=((node, value),))
