"""Reductions: the dimensions that are left."""

from __future__ import annotations

from collections.abc import Mapping

from ddelint.knowledge.operators import operators
from ddelint.static.domain.values import (
    KNOWN,
    UNKNOWN,
    Constant,
    Path,
    Series,
    Tensor,
    Unbacked,
    Value,
    bare,
    replace,
    series,
)
from ddelint.static.transfer.elementwise import broadcast
from ddelint.static.transfer.operator_call import Kernel, OperatorCall


def dimension_of(call: OperatorCall, position: int = 0) -> Value | None:
    value = call.argument(position, "dim", "axis")
    if isinstance(value, Path):
        return None
    return None if isinstance(value, Constant) and value.value is None else value


def _reduced(call: OperatorCall, dimension: Value | None, keep: Value | None, boolean: bool | None) -> Tensor:
    tensor = call.tensor
    if dimension is None:
        return Tensor((), True, boolean, trail=tensor.trail)
    keeps = isinstance(keep, Constant) and bool(keep.value)
    positions: list[int] = []
    for value in dimension.items or () if isinstance(dimension, Series) else (dimension,):
        if isinstance(value, Constant) and type(value.value) is int:
            positions.append(value.value)
    wanted = len(dimension.items or ()) if isinstance(dimension, Series) else 1
    settled = keep is None or isinstance(keep, Constant)
    if not tensor.complete or len(positions) != wanted or not positions or not settled:
        return Tensor((), False, boolean, trail=tensor.trail)
    gone = {position % len(tensor.dims) for position in positions} if tensor.dims else set()
    dims: list[Value] = []
    for position, size in enumerate(tensor.dims):
        if position not in gone:
            dims.append(size)
        elif keeps:
            dims.append(Constant(1))
    return Tensor(tuple(dims), True, boolean, trail=tensor.trail)


def _reduction(call: OperatorCall) -> Value:
    mask = operators().returns[call.name] == "reduction_mask"
    order = call.argument(0, "p", "q", "ord") if call.name in operators().order_first else None
    if isinstance(bare(order or KNOWN), Tensor):
        return Tensor(boolean=False)  # several quantiles at once
    position = 0 if order is None else 1
    dimension = dimension_of(call, position)
    return _reduced(call, dimension, call.argument(position + 1, "keepdim"), mask)


def _reduction_pair(call: OperatorCall) -> Value:
    other = bare(call.argument(0, "other") or UNKNOWN)
    if isinstance(other, Tensor):
        return broadcast((call.tensor, other))
    counted = 1 if call.name in operators().count_first else 0
    dimension = dimension_of(call, counted)
    if dimension is None and len(call.arguments) == counted:
        if call.name not in operators().always_pairs:
            return _reduced(call, None, None, call.tensor.boolean)
        dimension = Constant(-1)
    if dimension is None or (dimension == UNKNOWN and "dim" not in call.keywords):
        return UNKNOWN
    keep = call.argument(1 + counted, "keepdim")
    values = _reduced(call, dimension, keep, call.tensor.boolean)
    indices = _reduced(call, dimension, keep, False)
    return series((values, indices), "pair")


def _pair_of_scalars(call: OperatorCall) -> Value:
    dimension = dimension_of(call)
    one = _reduced(call, dimension, call.argument(1, "keepdim"), call.tensor.boolean)
    return series((one, one.renewed()), "pair")


def _pair(call: OperatorCall) -> Value:
    tensor = call.tensor
    count = call.argument(0, "k") if call.name in operators().cut_to else None
    if count is not None:
        position = call.integer(1, "dim")
        if call.argument(1, "dim") is None:
            position = -1
        size = bare(count)
        rank = len(tensor.dims)
        if position is None or not tensor.complete or not -rank <= position < rank:
            tensor = tensor.shaped(tensor.dims[:1] if len(tensor.dims) > 1 and position == -1 else (), False)
        else:
            dims = list(tensor.dims)
            dims[position] = size if isinstance(size, (Constant, Unbacked)) else KNOWN
            tensor = tensor.shaped(tuple(dims))
    return series((tensor.renewed(), replace(tensor.renewed(), boolean=False)), "pair")


def _loss(call: OperatorCall) -> Value:
    reduction = call.keywords.get("reduction")
    if reduction is None:
        return Tensor((), True, False)
    if isinstance(reduction, Constant):
        if reduction.value == "none":
            return Tensor((), False, False)
        return Tensor((), True, False)
    return Tensor((), False, False)


RULES: Mapping[str, Kernel] = {
    "reduction": _reduction,
    "reduction_mask": _reduction,
    "reduction_pair": _reduction_pair,
    "pair_of_scalars": _pair_of_scalars,
    "pair": _pair,
    "loss": _loss,
    "zero_dimensional": lambda c: Tensor((), True, False),
}
