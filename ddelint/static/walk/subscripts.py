"""Subscripts: of tensors, lists, dicts, shapes."""

from __future__ import annotations

import ast

from ddelint.static.domain.joining import each_of
from ddelint.static.domain.linear import Linear, fresh_symbol
from ddelint.static.domain.state import State
from ddelint.static.domain.values import (
    KNOWN,
    UNKNOWN,
    Constant,
    Function,
    Series,
    Table,
    Tensor,
    Unbacked,
    Value,
    bare,
    replace,
    series,
)
from ddelint.static.transfer.runs import element_of, hashable, picked
from ddelint.static.walk.binding import entry_of
from ddelint.static.walk.indexing import index_tensor
from ddelint.static.walk.records import as_series
from ddelint.static.walk.walker import Walker


def slice_expression(walker: Walker, node: ast.Slice, state: State) -> Value:
    """`a:b:c` by itself, among other indices."""
    for part in (node.lower, node.upper, node.step):
        if part is not None:
            walker.evaluate(part, state)
    return UNKNOWN


def subscript(walker: Walker, node: ast.Subscript, owner: Value, state: State) -> Value:
    """`owner[…]`."""
    owner = as_series(walker, bare(owner))
    if isinstance(owner, Tensor):
        return index_tensor(walker, node, owner, state)
    if isinstance(node.slice, ast.Slice):
        parts = (node.slice.lower, node.slice.upper, node.slice.step)
        bounds = [None if part is None else bare(walker.evaluate(part, state)) for part in parts]
        if owner == UNKNOWN and any(isinstance(bound, Unbacked) for bound in bounds[:2]):
            # a list cut at such a place would ask, too: as likely as not it is a tensor
            return index_tensor(walker, node, Tensor(), state)
        return _sliced(walker, node.slice, owner, bounds, state)
    index = bare(walker.evaluate(node.slice, state))
    if owner == UNKNOWN and isinstance(index, Tensor) and index.boolean and not index.scalar:
        return index_tensor(walker, node, Tensor(), state)  # only a tensor takes a mask as an index
    if isinstance(owner, Series):
        return _element(walker, node, owner, index, state)
    if isinstance(owner, Table):
        if isinstance(index, (Unbacked, Tensor)) and not (isinstance(index, Tensor) and not owner.entries):
            walker.record(
                node, "failure", index, subject=node.slice, parts=walker.parts(node.slice, state), rule="DDE202"
            )
        if isinstance(index, Constant) and hashable(index.value) and index.value in owner.entries:
            return owner.entries[index.value]
        return picked(owner)
    if isinstance(owner, Function):
        # kernel[grid]
        return owner
    if isinstance(owner, Unbacked) and owner.group is not None:
        return replace(owner, form=Linear.of(fresh_symbol()), group=node)
    if owner == UNKNOWN and state.attributes:
        return state.attributes.get(entry_of(node.value, index), UNKNOWN)
    return UNKNOWN


def _sliced(walker: Walker, node: ast.Slice, owner: Value, bounds: list[Value | None], state: State) -> Value:
    if not isinstance(owner, Series):
        return UNKNOWN
    for part, bound in zip((node.lower, node.upper, node.step), bounds, strict=True):
        if part is not None and isinstance(bound, (Unbacked, Tensor)):
            parent = next(walker.source.ancestors(node), None)
            target = parent if isinstance(parent, ast.Subscript) else part
            walker.record(target, "integer", bound, subject=part, parts=walker.parts(part, state), rule="DDE202")
    if owner.items is not None and all(b is None or isinstance(b, Constant) for b in bounds):
        values = [b.value if isinstance(b, Constant) else None for b in bounds]
        if all(v is None or isinstance(v, int) for v in values) and values[2] != 0:
            return replace(series(owner.items[slice(*values)], owner.kind), modules=owner.modules)
    return _piece(owner, bounds)


def _piece(owner: Series, bounds: list[Value | None]) -> Series:
    """A piece of a run: what is known of its ends is, where only those of the whole are. None of these is cut away."""
    head, tail = ((), ()) if owner.items is not None else (owner.head, owner.tail)
    match bounds:
        case [None | Constant(value=0), Constant(value=int(end)), None] if 0 < end <= len(head):
            return series(head[:end], owner.kind)
        case [Constant(value=int(start)), None, None] if 0 < -start <= len(tail):
            return series(tail[start:], owner.kind)
        case [None | Constant(value=0), None, None]:
            pass
        case [Constant(value=int(start)), None, None] if start > 0:
            head = head[start:]
        case [None | Constant(value=0), Constant(value=int(end)), None] if end < 0:
            tail = tail[:end]
        case _:
            head = tail = ()
    between = owner.element if owner.items is None else each_of(owner)
    return Series(owner.kind, None, between, KNOWN, owner.modules, head, tail)


def _element(walker: Walker, node: ast.Subscript, owner: Series, index: Value, state: State) -> Value:
    if isinstance(index, (Unbacked, Tensor)):
        walker.record(node, "integer", index, subject=node.slice, parts=walker.parts(node.slice, state), rule="DDE202")
        return each_of(owner)
    if owner.items is not None and isinstance(index, Constant) and type(index.value) is int:
        if -len(owner.items) <= index.value < len(owner.items):
            return owner.items[index.value]
        return UNKNOWN
    if isinstance(index, Constant) and type(index.value) is int:
        if 0 <= index.value < len(owner.head):
            return owner.head[index.value]
        if 0 < -index.value <= len(owner.tail):
            return owner.tail[index.value]
    if owner.kind == "shape":
        return _shape_element(walker, node, index, state, owner)
    return owner.element if owner.head or owner.tail else element_of(owner)


def _shape_element(walker: Walker, node: ast.Subscript, index: Value, state: State, owner: Series) -> Value:
    """`tensor.shape[i]` where the rank isn't known: ask the tensor again."""
    if isinstance(node.value, ast.Attribute):
        tensor = bare(walker.value_of(node.value.value, state))
        if isinstance(tensor, Tensor) and isinstance(index, Constant) and type(index.value) is int:
            return walker.numbers.size_of(tensor, index.value, state.facts)
    return each_of(owner) if isinstance(each_of(owner), Unbacked) else KNOWN
