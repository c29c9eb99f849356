"""Tensors that are made of sizes and numbers."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from ddelint.knowledge.operators import operators
from ddelint.static.domain.facts import NONNEGATIVE
from ddelint.static.domain.joining import each_of
from ddelint.static.domain.values import (
    KNOWN,
    UNKNOWN,
    Constant,
    Known,
    Path,
    Series,
    Tensor,
    Unbacked,
    Value,
    bare,
    replace,
)
from ddelint.static.transfer.elementwise import mask_type
from ddelint.static.transfer.operator_call import Kernel, OperatorCall
from ddelint.static.transfer.sizes import SIZES, Sizes, as_size, size_list, trail_of


def _boolean_of(call: OperatorCall, default: bool | None) -> bool | None:
    kind = call.keywords.get("dtype")
    if kind is None:
        return default
    return mask_type(kind)


def _of_sizes(sizes: Sizes, boolean: bool | None) -> Tensor:
    return Tensor(sizes.dims, sizes.complete, boolean, trail=sizes.trail, tail=sizes.tail)


def _creation(call: OperatorCall) -> Value:
    values = call.arguments if call.method else call.everything
    given = call.keywords.get("size")
    sizes = size_list([given] if given is not None else values, call)
    default = None if call.method else False
    if call.method and call.tensor.boolean is False:
        default = False
    return _of_sizes(sizes, _boolean_of(call, default))


def _creation_full(call: OperatorCall) -> Value:
    values = call.arguments if call.method else call.everything
    size = call.keywords.get("size") or (values[0] if values else UNKNOWN)
    fill = call.keywords.get("fill_value") or (values[1] if len(values) > 1 else UNKNOWN)
    sizes = size_list([size], call)
    default = isinstance(fill, Constant) and isinstance(fill.value, bool)
    return _of_sizes(sizes, _boolean_of(call, default))


def _creation_of_integers(call: OperatorCall) -> Value:
    size = call.keywords.get("size") or next((v for v in call.everything if isinstance(bare(v), Series)), None)
    if size is None:
        return Tensor(boolean=False)
    return _of_sizes(size_list([size], call), False)


def _like(call: OperatorCall) -> Value:
    tensor = call.tensor.renewed()
    return replace(tensor, boolean=_boolean_of(call, tensor.boolean), offsets=False)


def _square(call: OperatorCall) -> Value:
    dims, complete, _ = size_list(call.everything[:2], call)
    if operators().returns[call.name] == "square" and len(dims) == 1:
        dims = (dims[0], dims[0])
    return Tensor(dims, complete, False, trail=trail_of(dims))


def _count_up(call: OperatorCall) -> Value:
    values = [bare(value) for value in call.everything]
    for name in ("start", "end", "step"):
        if name in call.keywords:
            values.append(bare(call.keywords[name]))
    if len(values) == 1:
        return _of_sizes(size_list(values, call), False)
    if len(values) == 2 and all(isinstance(value, SIZES) for value in values):
        size = call.numbers.arithmetic(ast.Sub, values[1], values[0], call.facts)
        if isinstance(size, Unbacked):
            if size.form is not None:
                call.facts.learn_bounds(size.form, NONNEGATIVE)
            size = as_size(size)
        return Tensor((size,), True, False, trail=trail_of((size,)))
    for value in values:
        if isinstance(value, Unbacked):
            size = call.numbers.new_size(value.birth, call.facts, value.trail)
            return Tensor((size,), True, False, trail=value.trail)
    if any(isinstance(value, Tensor) for value in values):
        return _of_sizes(size_list([value for value in values if isinstance(value, Tensor)][:1], call), False)
    return Tensor((KNOWN,), True, False)


def _literal(call: OperatorCall) -> Value:
    values = call.arguments if call.method else call.everything
    content = bare(values[0] if values else call.keywords.get("data", UNKNOWN))
    if isinstance(content, Tensor):
        return content
    boolean = _boolean_of(call, None)
    dims: list[Value] = []
    current: Value = content
    while isinstance(current, Series):
        dims.append(current.length)
        current = bare(each_of(current))
    if isinstance(current, Path) and current.name.partition(".")[0] in operators().regions["eager_libraries"]:
        content = current = KNOWN  # math.pi
    if current == UNKNOWN or not isinstance(current, (Constant, Known, Unbacked, Tensor)):
        return Tensor((), False, boolean)
    literal = isinstance(current, (Constant, Known)) and _all_settled(content)
    if boolean is None and isinstance(current, Constant):
        boolean = isinstance(current.value, bool)
    return Tensor(tuple(dims), True, boolean, literal=literal, trail=trail_of(tuple(dims)))


def _all_settled(value: Value) -> bool:
    if isinstance(value, Series):
        return all(_all_settled(item) for item in (value.items if value.items is not None else (value.element,)))
    return isinstance(value, (Constant, Known))


RULES: Mapping[str, Kernel] = {
    "creation": _creation,
    "new_creation": _creation,
    "creation_full": _creation_full,
    "creation_of_integers": _creation_of_integers,
    "like": _like,
    "square": _square,
    "permutation": _square,
    "count_up": _count_up,
    "literal": _literal,
}
