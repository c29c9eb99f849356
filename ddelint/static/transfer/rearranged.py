"""Answers that are put together from the sizes of tensors: padding, rearranging, rows side by side."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from ddelint.knowledge.operators import operators
from ddelint.static.domain.values import KNOWN, UNKNOWN, Constant, Series, Tensor, Unbacked, Value, bare, series
from ddelint.static.transfer.lettered import computed
from ddelint.static.transfer.operator_call import Kernel, OperatorCall
from ddelint.static.transfer.several import joined
from ddelint.static.transfer.sizes import trail_of


def _padded(call: OperatorCall) -> Value:
    tensor, widths = call.tensor, bare(call.argument(0, "pad") or UNKNOWN)
    if not isinstance(widths, Series) or widths.items is None or not tensor.complete:
        first = tensor.dims[:1] if tensor.unbacked_dims and tensor.dims else ()
        return Tensor(first, False, tensor.boolean, trail=tensor.trail)
    dims = list(tensor.dims)
    pairs = list(zip(widths.items[::2], widths.items[1::2]))
    if len(pairs) > len(dims):
        return Tensor(boolean=tensor.boolean)
    for back, pair in enumerate(pairs, 1):
        for width in map(bare, pair):
            if isinstance(width, (Unbacked, Constant)):
                total = call.numbers.arithmetic(ast.Add, dims[-back], width, call.facts)
                dims[-back] = total if not isinstance(total, Unbacked) else computed(total, call)
            else:
                dims[-back] = computed(dims[-back], call)
    return Tensor(tuple(dims), True, tensor.boolean, trail=trail_of(tuple(dims)))


def _moved(call: OperatorCall) -> Value:
    """`movedim`: one dimension to another place."""
    tensor, source, target = call.tensor, call.integer(0, "source"), call.integer(1, "destination")
    rank = len(tensor.dims)
    if source is None or target is None or not tensor.complete:
        return Tensor(boolean=tensor.boolean)
    if not (-rank <= source < rank and -rank <= target < rank):
        return Tensor(boolean=tensor.boolean)
    dims = list(tensor.dims)
    dims.insert(target % rank, dims.pop(source % rank))
    return tensor.shaped(tuple(dims))


def _unflattened(call: OperatorCall) -> Value:
    tensor, position = call.tensor, call.integer(0, "dim")
    sizes = bare(call.argument(1, "sizes") or UNKNOWN)
    rank = len(tensor.dims)
    if position is None or not tensor.complete or not isinstance(sizes, Series) or sizes.items is None:
        return Tensor(boolean=tensor.boolean)
    if not -rank <= position < rank:
        return Tensor(boolean=tensor.boolean)
    at = position % rank
    inner: list[Value] = []
    for size in map(bare, sizes.items):
        if isinstance(size, Constant) and size.value == -1:
            inner.append(computed(tensor.dims[at], call))
        elif isinstance(size, (Constant, Unbacked)):
            inner.append(size)
        else:
            inner.append(KNOWN)
    return tensor.shaped((*tensor.dims[:at], *inner, *tensor.dims[at + 1 :]))


def _differences(call: OperatorCall) -> Value:
    """`diff`: one row less along one dimension."""
    tensor, position = call.tensor, call.integer(1, "dim")
    if call.argument(1, "dim") is None:
        position = -1
    rank = len(tensor.dims)
    if position is None or not tensor.complete or not -rank <= position < rank:
        return Tensor(boolean=tensor.boolean)
    dims = list(tensor.dims)
    size = dims[position]
    if isinstance(size, Unbacked):
        call.demand("truth", size, subject=call.tensor_node, operator=call.name, parts=_parts(call))
    dims[position] = computed(size, call)
    return tensor.shaped(tuple(dims))


def _side_by_side(call: OperatorCall) -> Value:
    """`hstack` and its kin: `cat` along a dimension that follows from the rank."""
    given = bare(call.everything[0]) if call.everything else UNKNOWN
    items = given.items if isinstance(given, Series) else None
    tensors = [value for value in map(bare, items or ()) if isinstance(value, Tensor) and value.complete]
    if items is None or not tensors or len(tensors) != len(items):
        return Tensor()
    rank = len(tensors[0].dims)
    if any(len(tensor.dims) != rank for tensor in tensors) or rank == 0:
        return Tensor()
    along = operators().side_by_side[call.name]
    if rank == 1 and along != "h":
        rows = [tensor.shaped((Constant(1), *tensor.dims)) for tensor in tensors]
        if along == "c":
            rows = [tensor.shaped((*tensor.dims, Constant(1))) for tensor in tensors]
        return _joined(rows, 1 if along == "c" else 0, call)
    return _joined(tensors, 0 if along == "v" or rank == 1 else 1, call)


def _joined(tensors: list[Tensor], position: int, call: OperatorCall) -> Value:
    return joined(series(tuple(tensors)), position, call)


def _parts(call: OperatorCall) -> tuple[tuple[ast.expr, Value], ...]:
    return ((call.tensor_node, call.tensor),) if call.tensor_node is not None else ()


RULES: Mapping[str, Kernel] = {
    "padded_by": _padded,
    "moved": _moved,
    "unflattened": _unflattened,
    "differences": _differences,
    "side_by_side": _side_by_side,
}
