"""The same elements in another shape, or some of them."""

from __future__ import annotations

from collections.abc import Mapping

from ddelint.static.domain.values import (
    KNOWN,
    UNKNOWN,
    Alternatives,
    Constant,
    Known,
    Path,
    Tensor,
    Unbacked,
    Value,
    bare,
)
from ddelint.static.transfer.operator_call import Kernel, OperatorCall
from ddelint.static.transfer.sizes import as_size, size_list, trail_of


def _reshaped(call: OperatorCall) -> Value:
    tensor = call.tensor
    if any(isinstance(value, (Path, Alternatives)) for value in call.arguments) or not call.arguments:
        given = call.keywords.get("shape") or call.keywords.get("size")
        if given is None:
            return Tensor()
        sizes = size_list([given], call)
    else:
        sizes = size_list(call.arguments, call)
    wanted = (*sizes.dims, *sizes.tail)
    explicit = any(isinstance(size, Unbacked) for size in wanted)
    inferred = any(isinstance(size, Constant) and size.value == -1 for size in wanted)
    settled = tensor.complete or tensor.outline in call.numbers.given
    if explicit and inferred and settled and not tensor.unbacked_dims:
        source = next(size for size in wanted if isinstance(size, Unbacked))
        call.demand("other", source, rule="DDE309", advice=True, look_into=tuple(call.nodes))
    rest = KNOWN if explicit else _left_over(call, len(wanted) == 1)
    known, tail = (tuple(rest if _is_inferred(size) else size for size in part) for part in (sizes.dims, sizes.tail))
    return Tensor(
        known, sizes.complete, tensor.boolean, offsets=tensor.offsets, trail=trail_of((*known, *tail)), tail=tail
    )


def _is_inferred(size: Value) -> bool:
    return isinstance(size, Constant) and size.value == -1


def _left_over(call: OperatorCall, flat: bool) -> Value:
    """The size that `-1` stands for beside sizes that are known; `flat`: there are no others."""
    tensor = call.tensor
    if not tensor.unbacked_dims:
        return KNOWN
    if flat and tensor.complete and len(tensor.dims) == 1:
        return tensor.dims[0]
    source = tensor.unbacked_dims[0]
    return call.numbers.new_size(source.birth, call.facts, source.trail)


def _expanded(call: OperatorCall) -> Value:
    sizes = size_list(call.arguments, call)
    tensor = call.tensor
    count = len(sizes.dims)
    known: list[Value] = []
    for position, size in enumerate(sizes.dims):
        if _is_inferred(size):
            back = position - count
            found = sizes.complete and tensor.complete and -back <= len(tensor.dims)
            known.append(tensor.dims[back] if found else KNOWN)
        else:
            known.append(size)
    tail = tuple(KNOWN if _is_inferred(size) else size for size in sizes.tail)
    return Tensor(tuple(known), sizes.complete, tensor.boolean, trail=trail_of((*known, *tail)), tail=tail)


def _flattened(call: OperatorCall) -> Value:
    tensor = call.tensor
    start = call.integer(0, "start_dim")
    if call.argument(0, "start_dim") is None:
        start = 0
    end = call.integer(1, "end_dim")
    if call.argument(1, "end_dim") is None:
        end = -1
    if start is None or end is None:
        return Tensor(boolean=tensor.boolean)
    if not tensor.complete:
        if start == 0 and end == -1:
            if tensor.unbacked_dims:
                source = tensor.unbacked_dims[0]
                size: Value = call.numbers.new_size(source.birth, call.facts, source.trail)
                return Tensor((size,), True, tensor.boolean, trail=tensor.trail)
            return Tensor((KNOWN,), True, tensor.boolean)
        if 0 < start <= len(tensor.dims):
            return tensor.shaped(tensor.dims[:start], False)
        return Tensor(boolean=tensor.boolean)
    rank = len(tensor.dims)
    if rank == 0:
        return tensor.shaped((Constant(1),))
    first, last = start % rank, end % rank
    merged = call.numbers.product(tensor.dims[first : last + 1], call.facts)
    if isinstance(merged, Unbacked):
        merged = as_size(merged)
    return tensor.shaped((*tensor.dims[:first], merged, *tensor.dims[last + 1 :]))


def _unsqueezed(call: OperatorCall) -> Value:
    tensor, position = call.tensor, call.integer(0, "dim")
    if position is None:
        return Tensor(boolean=tensor.boolean)
    if position < 0:
        if not tensor.complete:
            leading = tensor.dims[:1] if tensor.dims and position == -1 else ()
            return tensor.shaped(leading, False)
        position += len(tensor.dims) + 1
    if position > len(tensor.dims):
        return tensor.shaped(tensor.dims, False)
    return tensor.shaped((*tensor.dims[:position], Constant(1), *tensor.dims[position:]), tensor.complete)


def _squeezed(call: OperatorCall) -> Value:
    tensor = call.tensor
    given = call.argument(0, "dim")
    if given is None:
        kept: list[Value] = []
        for size in tensor.dims:
            if isinstance(size, Known):
                return tensor.shaped(tuple(kept), False)
            if not (isinstance(size, Constant) and size.value == 1):
                kept.append(size)
        return tensor.shaped(tuple(kept), tensor.complete)
    position = call.integer(0, "dim")
    if position is None or not tensor.dims:
        return Tensor(boolean=tensor.boolean)
    if position < 0:
        if not tensor.complete:
            return tensor.shaped(tensor.dims[:1] if position == -1 and len(tensor.dims) > 1 else (), False)
        position += len(tensor.dims)
    if not 0 <= position < len(tensor.dims):
        return tensor.shaped(tensor.dims, False)
    size = tensor.dims[position]
    if isinstance(size, Constant):
        if size.value != 1:
            return tensor
        return tensor.shaped((*tensor.dims[:position], *tensor.dims[position + 1 :]), tensor.complete)
    if isinstance(size, Unbacked):
        return tensor
    if position == len(tensor.dims) - 1 and tensor.complete and position > 0:
        # x.nonzero().squeeze(1): people squeeze what they know to be 1
        return tensor.shaped(tensor.dims[:position])
    return tensor.shaped(tensor.dims[:position], False)


def _swapped(call: OperatorCall) -> Value:
    tensor = call.tensor
    first, second = call.integer(0, "dim0"), call.integer(1, "dim1")
    if not tensor.complete or first is None or second is None:
        return Tensor(boolean=tensor.boolean)
    dims = list(tensor.dims)
    try:
        dims[first], dims[second] = dims[second], dims[first]
    except IndexError:
        return Tensor(boolean=tensor.boolean)
    return tensor.shaped(tuple(dims))


def _reversed(call: OperatorCall) -> Value:
    tensor = call.tensor
    return tensor.shaped(tuple(reversed(tensor.dims)) if tensor.complete else (), tensor.complete)


def _permuted(call: OperatorCall) -> Value:
    tensor = call.tensor
    order, complete, _ = size_list(call.arguments, call)
    positions = [v.value for v in order if isinstance(v, Constant) and type(v.value) is int]
    if not tensor.complete or not complete or len(positions) != len(tensor.dims):
        return Tensor(boolean=tensor.boolean)
    try:
        return tensor.shaped(tuple(tensor.dims[position] for position in positions))
    except IndexError:
        return Tensor(boolean=tensor.boolean)


def _repeated(call: OperatorCall) -> Value:
    times, complete, _ = size_list(call.arguments, call)
    tensor = call.tensor
    if tensor.complete and complete and len(times) == len(tensor.dims):
        dims = tuple(call.numbers.product(pair, call.facts) for pair in zip(times, tensor.dims))
        return tensor.shaped(dims)
    return Tensor(boolean=tensor.boolean)


def _narrowed(call: OperatorCall) -> Value:
    tensor, position = call.tensor, call.integer(0, "dim")
    length, complete, _ = size_list([call.argument(2, "length") or UNKNOWN], call)
    if position is None or not complete:
        return Tensor(boolean=tensor.boolean)
    dims = list(tensor.dims)
    if -len(dims) <= position < len(dims) and (position >= 0 or tensor.complete):
        dims[position] = length[0]
        return tensor.shaped(tuple(dims), tensor.complete)
    if position == len(dims) and not tensor.complete:
        return tensor.shaped((*dims, length[0]), False)
    return Tensor(boolean=tensor.boolean)


def _picked(call: OperatorCall) -> Value:
    tensor, position = call.tensor, call.integer(0, "dim")
    dims = list(tensor.dims)
    if position is None or not (-len(dims) <= position < len(dims)) or not tensor.complete:
        return Tensor(boolean=tensor.boolean)
    del dims[position]
    return tensor.shaped(tuple(dims))


def _indexed(call: OperatorCall) -> Value:
    tensor, position = call.tensor, call.integer(0, "dim")
    index = bare(call.argument(1, "index") or UNKNOWN)
    if position is None or not isinstance(index, Tensor):
        return Tensor(boolean=tensor.boolean)
    size: Value = index.dims[0] if index.dims else KNOWN
    dims = list(tensor.dims)
    if -len(dims) <= position < len(dims) and (position >= 0 or tensor.complete):
        dims[position] = size
        return tensor.shaped(tuple(dims), tensor.complete)
    if position == 0:
        return tensor.shaped((size,), False)
    return Tensor(boolean=tensor.boolean)


RULES: Mapping[str, Kernel] = {
    "reshaped": _reshaped,
    "expanded": _expanded,
    "flattened": _flattened,
    "unsqueezed": _unsqueezed,
    "squeezed": _squeezed,
    "swapped": _swapped,
    "reversed": _reversed,
    "permuted": _permuted,
    "repeated": _repeated,
    "narrowed": _narrowed,
    "picked": _picked,
    "indexed": _indexed,
}
