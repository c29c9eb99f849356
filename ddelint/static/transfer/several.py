"""Tensors put together, and cut into pieces."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from ddelint.knowledge.operators import operators
from ddelint.static.domain.joining import each_of
from ddelint.static.domain.values import KNOWN, UNKNOWN, Constant, Series, Tensor, Unbacked, Value, bare
from ddelint.static.transfer.operator_call import Kernel, OperatorCall
from ddelint.static.transfer.sizes import as_size, join_sizes, trail_of


def _concatenated(call: OperatorCall) -> Value:
    given = bare(call.everything[0] if call.everything else call.keywords.get("tensors", UNKNOWN))
    position = call.integer(0, "dim", "axis")
    if call.argument(0, "dim", "axis") is None:
        position = 0
    return joined(given, position, call)


def joined(given: Value, position: int | None, call: OperatorCall) -> Value:
    """A run of tensors, one behind the other along a dimension."""
    if not isinstance(given, Series):
        return Tensor()
    tensors = [bare(item) for item in (given.items if given.items is not None else (given.element,))]
    if not tensors or not all(isinstance(item, Tensor) for item in tensors) or position is None:
        return Tensor()
    kept = [item for item in tensors if isinstance(item, Tensor)]
    first = kept[0]
    boolean = first.boolean if all(item.boolean == first.boolean for item in kept) else None
    if given.items is None and first.unbacked_dims and position == 0 and first.dims:
        source = first.unbacked_dims[0]
        total: Value = call.numbers.new_size(source.birth, call.facts, source.trail)
        return Tensor((total, *first.dims[1:]), first.complete, boolean, trail=source.trail)
    if not all(item.complete and len(item.dims) == len(first.dims) for item in kept):
        if position == 0 and all(item.dims for item in kept):
            return Tensor((_total([item.dims[0] for item in kept], call),), False, boolean)
        return Tensor(boolean=boolean)
    if not -len(first.dims) <= position < len(first.dims):
        return Tensor(boolean=boolean)
    dims = [join_sizes([item.dims[at] for item in kept]) for at in range(len(first.dims))]
    dims[position] = KNOWN
    if given.items is not None:
        dims[position] = _total([item.dims[position] for item in kept], call)
    return Tensor(tuple(dims), True, boolean, trail=trail_of(tuple(dims)))


def _total(sizes: list[Value], call: OperatorCall) -> Value:
    total: Value = Constant(0)
    for size in sizes:
        total = call.numbers.arithmetic(ast.Add, total, size, call.facts)
    return as_size(total) if isinstance(total, Unbacked) else total


def _stacked(call: OperatorCall) -> Value:
    given = bare(call.everything[0] if call.everything else UNKNOWN)
    position = call.integer(0, "dim")
    if call.argument(0, "dim") is None:
        position = 0
    if not isinstance(given, Series) or position is None:
        return Tensor()
    each = bare(each_of(given))
    if not isinstance(each, Tensor):
        return Tensor()
    if position < 0:
        if not each.complete:
            return Tensor(boolean=each.boolean)
        position += len(each.dims) + 1
    if position > len(each.dims):
        return Tensor(boolean=each.boolean)
    dims = (*each.dims[:position], given.length, *each.dims[position:])
    return Tensor(dims, each.complete, each.boolean, trail=trail_of(dims))


def _pieces(call: OperatorCall) -> Value:
    tensor = call.tensor
    counted = call.argument(0, *_COUNTS)
    unbinds = call.name in operators().row_by_row
    position = call.integer(0 if unbinds else 1, "dim")
    if call.argument(0 if unbinds else 1, "dim") is None:
        position = 0
    how = bare(counted) if counted is not None and not unbinds else UNKNOWN
    if call.name in operators().tensor_offsets and isinstance(how, Tensor) and not how.literal:
        subject = call.node_of(0, "indices_or_sections", "indices", "tensor_indices_or_sections")
        parts: tuple[tuple[ast.expr, Value], ...] = ((subject, how),) if subject is not None else ()
        call.demand("other", how, subject=subject, parts=parts, rule="DDE303")
    size = tensor.dims[position] if position is not None and 0 <= position < len(tensor.dims) else KNOWN
    if isinstance(size, Unbacked) and not isinstance(how, (Series, Tensor)):
        parts = ((call.tensor_node, tensor),) if call.tensor_node is not None else ()
        call.demand("operator", size, operator=call.name, subject=call.tensor_node, parts=parts)
    if unbinds:
        dims, complete = (tensor.dims[1:] if position == 0 else ()), tensor.complete and bool(tensor.dims)
        if complete and position is not None and -len(tensor.dims) <= position < len(tensor.dims):
            rest = list(tensor.dims)
            size = rest.pop(position)
            dims = tuple(rest)
        else:
            complete = False
        return Series("tuple", None, tensor.shaped(dims, complete), KNOWN if isinstance(size, Unbacked) else size)
    dims_list = list(tensor.dims) if tensor.complete or position == 0 else []
    piece: Value = KNOWN
    if isinstance(how, Series) and isinstance(bare(each_of(how)), Unbacked):
        source = bare(each_of(how))
        assert isinstance(source, Unbacked)
        piece = call.numbers.new_size(source.birth, call.facts, source.trail)
    elif isinstance(how, Tensor) or isinstance(size, Unbacked):
        piece = call.numbers.new_size(call.node, call.facts, None)
    if position is not None and -len(dims_list) <= position < len(dims_list):
        dims_list[position] = piece
    elif position == 0:
        dims_list = [piece]
    length = how.length if isinstance(how, Series) else KNOWN
    return Series("tuple", None, tensor.shaped(tuple(dims_list), tensor.complete and bool(dims_list)), length)


_COUNTS = ("chunks", "split_size_or_sections", "split_size", "split_sizes", "indices_or_sections", "indices")
"""What the argument that says how to cut a tensor is called."""


RULES: Mapping[str, Kernel] = {
    "concatenated": _concatenated,
    "stacked": _stacked,
    "pieces": _pieces,
    "tensors": lambda c: Series("tuple", None, Tensor()),
    "padded": lambda c: Tensor(),
}
