"""Numbers that are read from tensors."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from ddelint.knowledge.operators import operators
from ddelint.static.domain.invariants import Invariants
from ddelint.static.domain.linear import Linear, fresh_symbol
from ddelint.static.domain.values import KNOWN, Series, Step, Tensor, Unbacked, Value
from ddelint.static.transfer.numbers import Numbers
from ddelint.static.transfer.operator_call import Kernel, OperatorCall


def number(node: ast.expr, tensor: Tensor, numbers: Numbers, invariants: Invariants, says: str) -> Value:
    """The number that a tensor of one element holds; the same symbol each time the same tensor is read."""
    if tensor.literal:
        return KNOWN
    symbol = numbers.symbols.setdefault((tensor.serial, "item"), fresh_symbol())
    topic = "bool" if tensor.boolean else "number"
    trail = Step(node, operators().says.get(says, ""), None)
    found = Unbacked(topic, node, Linear.of(symbol), trail=trail, offsets=tensor.offsets)
    if tensor.content is not None:
        invariants.read(found, tensor)
    return found


def is_read(tensor: Tensor, numbers: Numbers) -> bool:
    """Whether the tensor's number was read before, or is known without."""
    return tensor.literal or (tensor.serial, "item") in numbers.symbols


def _item(call: OperatorCall) -> Value:
    if not is_read(call.tensor, call.numbers):
        call.newly_read = call.tensor
    return number(call.node, call.tensor, call.numbers, call.invariants, "item")


def _list_of_items(call: OperatorCall) -> Value:
    tensor = call.tensor
    if tensor.scalar:
        return _item(call)
    trail = Step(call.node, operators().says.get("list_of_items", ""), None)
    element: Value = Unbacked(
        "bool" if tensor.boolean else "number",
        call.node,
        Linear.of(fresh_symbol()),
        trail=trail,
        group=call.node,
        offsets=tensor.offsets,
    )
    if tensor.literal:
        element = KNOWN
    if not tensor.dims:
        return Series("list", None, element, KNOWN)
    first = tensor.dims[0]
    if isinstance(first, Unbacked):
        call.demand("operator", first, operator=operators().iteration, subject=call.tensor_node)
    result: Value = element
    for size in reversed(tensor.dims if tensor.complete else tensor.dims[:1]):
        result = Series("list", None, result, KNOWN if isinstance(size, Unbacked) else size)
    return result


def _question(call: OperatorCall) -> Value:
    value = Unbacked("bool", call.node, None, trail=Step(call.node, operators().says.get("question", ""), None))
    call.demand("operator", value, operator=call.name, parts=((call.node, value),))
    return KNOWN


RULES: Mapping[str, Kernel] = {
    "item": _item,
    "list_of_items": _list_of_items,
    "question": _question,
}
