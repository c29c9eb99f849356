"""Element by element: what several tensors together decide."""

from __future__ import annotations

from collections.abc import Mapping

from ddelint.knowledge.operators import operators, terminal_name
from ddelint.static.domain.values import UNKNOWN, Constant, Known, Path, Tensor, Value, bare, replace
from ddelint.static.transfer.operator_call import Kernel, OperatorCall


def broadcast(values: tuple[Value, ...], mask: bool = False, bitwise: bool = False) -> Tensor:
    """Elementwise over several values, the tensors of which decide the shape."""
    tensors = [value for value in map(bare, values) if isinstance(value, Tensor)]
    unknown = any(isinstance(bare(value), (type(UNKNOWN), Path)) for value in values)
    boolean: bool | None = mask
    if bitwise:
        kinds = {tensor.boolean for tensor in tensors}
        boolean = True if kinds == {True} and not unknown else (None if None in kinds or unknown else False)
    elif (
        not mask
        and any(tensor.boolean is not False for tensor in tensors)
        and all(tensor.boolean for tensor in tensors)
    ):
        boolean = None
    offsets = any(tensor.offsets for tensor in tensors) and not mask
    trail = next((tensor.trail for tensor in tensors if tensor.unbacked_dims), None)
    dims: tuple[Value, ...] = ()
    complete = not unknown and all(tensor.complete for tensor in tensors)
    if complete:
        rank = max((len(tensor.dims) for tensor in tensors), default=0)
        merged: list[Value] = []
        for position in range(rank):
            sizes = [
                tensor.dims[position - rank + len(tensor.dims)]
                for tensor in tensors
                if position - rank + len(tensor.dims) >= 0
            ]
            merged.append(_broadcast_size(sizes))
        dims = tuple(merged)
    elif len(tensors) == 1 and (not unknown or tensors[0].unbacked_dims):
        dims = tensors[0].dims  # what nothing is known of is usually a number
    else:
        # ranks unknown: only where the one with a data-dependent first dimension meets plain numbers or scalars
        others = [tensor for tensor in tensors if not tensor.scalar]
        if len(others) == 1 and not unknown:
            dims = others[0].dims
    literal = complete and not dims and all(map(is_literal, values))
    merged_tensor = Tensor(dims, complete, boolean, literal, offsets, trail=trail)
    shaped = [tensor for tensor in tensors if not tensor.scalar]
    if len(shaped) == 1 and not unknown:
        return replace(merged_tensor, outline=shaped[0].outline)
    return merged_tensor


def _broadcast(call: OperatorCall) -> Value:
    if call.method or call.tensor_node is not None:
        return broadcast((call.tensor, *call.arguments[:2]))
    return broadcast(tuple(call.everything))


def _broadcast_mask(call: OperatorCall) -> Value:
    return broadcast((call.tensor, *call.arguments[:1]), mask=True)


def _same_as_argument(call: OperatorCall) -> Value:
    other = bare(call.arguments[0]) if call.arguments else UNKNOWN
    if isinstance(other, Tensor):
        return Tensor(other.dims, other.complete, call.tensor.boolean, trail=other.trail)
    return Tensor(boolean=call.tensor.boolean)


def _converted(call: OperatorCall) -> Value:
    boolean = call.tensor.boolean
    for value, node in (
        *zip(call.arguments, call.nodes),
        *((call.keywords[k.arg], k.value) for k in call.node.keywords if k.arg in ("dtype", "other")),
    ):
        value = bare(value)
        if isinstance(value, Path):
            boolean = mask_type(value)
        elif isinstance(value, Tensor):
            boolean = value.boolean
        elif terminal_name(node) in ("dtype", "target_dtype") or (value == UNKNOWN and boolean):
            boolean = None if terminal_name(node) != "device" else boolean
    return replace(call.tensor.renewed(), boolean=boolean)


def _broadcast_size(sizes: list[Value]) -> Value:
    others = [size for size in sizes if not (isinstance(size, Constant) and size.value == 1)]
    if not others:
        return sizes[0]
    for size in others:
        if isinstance(size, (Constant, Known)):
            return size
    return others[0]


def mask_type(kind: Value) -> bool | None:
    if isinstance(kind, Path):
        return kind.name.rsplit(".", 1)[-1] == "bool"
    return None


def is_literal(value: Value) -> bool:
    """Whether a tracer knows the value: a Python number, or a tensor of one number that is built from such."""
    value = bare(value)
    return value.literal and value.scalar if isinstance(value, Tensor) else isinstance(value, (Constant, Known))


def of_literals(call: OperatorCall, behaviour: str) -> bool:
    """Whether an answer of one number is one that a tracer computes along with the program."""
    if call.name in operators().random or not is_literal(call.tensor):
        return False
    given = (*call.arguments, *call.keywords.values())
    # what a tensor is converted to is a type or a place, never its content
    return behaviour == "converted" or all(isinstance(value, Path) or is_literal(value) for value in given)


RULES: Mapping[str, Kernel] = {
    "same": lambda c: c.tensor.renewed(),
    "same_number": lambda c: replace(c.tensor.renewed(), boolean=False, offsets=False),
    "same_mask": lambda c: replace(c.tensor.renewed(), boolean=True, offsets=False),
    "running_total": lambda c: replace(c.tensor.renewed(), boolean=False, offsets=True),
    "broadcast": _broadcast,
    "broadcast_mask": _broadcast_mask,
    "tensor": lambda c: Tensor(trail=c.tensor.trail),
    "same_as_argument": _same_as_argument,
    "converted": _converted,
}
