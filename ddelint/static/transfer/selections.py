"""Sizes that data decides: how many elements are found, kept, or repeated."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from ddelint.knowledge.operators import operators
from ddelint.static.domain.linear import Comparison, Linear, fresh_symbol
from ddelint.static.domain.values import (
    KNOWN,
    UNKNOWN,
    Constant,
    Known,
    Series,
    Step,
    Tensor,
    Unbacked,
    Value,
    bare,
    form_of,
    replace,
    series,
)
from ddelint.static.transfer.elementwise import broadcast
from ddelint.static.transfer.operator_call import Kernel, OperatorCall
from ddelint.static.transfer.reductions import dimension_of
from ddelint.static.transfer.sizes import element_count


def _born(call: OperatorCall, says: str, remembered: bool = False) -> Unbacked:
    """A size that the operator makes; where `remembered`, the same one each time for the same tensor."""
    step = Step(call.node, operators().says.get(says, ""), None)
    form: Linear | None = None
    if remembered:
        form = Linear.of(call.numbers.symbols.setdefault((call.tensor.serial, "nonzero"), fresh_symbol()))
    return call.numbers.new_size(call.node, call.facts, step, form)


def _nonzero(call: OperatorCall) -> Value:
    count = _born(call, "nonzero", True)
    if call.tensor.complete and len(call.tensor.dims) == 1:
        call.numbers.at_most(count, call.tensor.dims[0], call.facts)
    as_tuple = call.argument(0, "as_tuple")
    if isinstance(as_tuple, Constant) and as_tuple.value:
        return _indices(call, count)
    if as_tuple is not None and not isinstance(as_tuple, Constant):
        return UNKNOWN
    rank: Value = Constant(len(call.tensor.dims)) if call.tensor.complete else KNOWN
    return Tensor((count, rank), True, False, trail=count.trail)


def _indices(call: OperatorCall, count: Unbacked) -> Value:
    one = Tensor((count,), True, False, trail=count.trail)
    if call.tensor.complete:
        return series(tuple(one.renewed() for _ in call.tensor.dims), "tuple")
    return Series("tuple", None, one)


def _selection(call: OperatorCall) -> Value:
    count = _born(call, operators().returns[call.name])
    return Tensor((count,), True, call.tensor.boolean, trail=count.trail)


def _unique(call: OperatorCall) -> Value:
    count = _born(call, "unique")
    _not_empty(count, call)
    extras = [call.keywords.get("return_inverse"), call.keywords.get("return_counts")]
    if any(extra is not None and not isinstance(extra, Constant) for extra in extras):
        return UNKNOWN
    if len(call.arguments) > 1:
        return UNKNOWN
    dimension = dimension_of(call, 9)
    if dimension is None:
        values = Tensor((count,), True, call.tensor.boolean, trail=count.trail)
    elif isinstance(dimension, Constant) and dimension.value == 0:
        dims = (count, *call.tensor.dims[1:])
        values = Tensor(dims, call.tensor.complete, call.tensor.boolean, trail=count.trail)
    else:
        values = Tensor(trail=count.trail)
    wanted = [bool(extra.value) if isinstance(extra, Constant) else False for extra in extras]
    if not any(wanted):
        return values
    items: list[Value] = [values]
    if wanted[0]:
        items.append(replace(call.tensor.renewed(), boolean=False))
    if wanted[1]:
        items.append(Tensor((count,), True, False, trail=count.trail))
    return series(tuple(items), "tuple")


def _not_empty(count: Unbacked, call: OperatorCall) -> None:
    """There is one distinct element at least where there are any; and there are not more than elements."""
    whole = form_of(element_count(call.tensor, call.numbers, call.facts))
    if whole is None or count.form is None:
        return
    call.facts.learn(Comparison(count.form.plus(whole, -1), ast.LtE))
    if call.facts.bounds(whole)[0] >= 1:
        call.invariants.learn(count.form, 1, None, operators().reasons["unique"])


def _repeat_interleave(call: OperatorCall) -> Value:
    output = call.keywords.get("output_size")
    repeats = bare(call.argument(0, "repeats") or UNKNOWN)
    lone = call.argument(0, "repeats") is None
    dimension = call.integer(1, "dim")
    has_dimension = call.argument(1, "dim") is not None
    if not lone and not isinstance(repeats, Tensor):
        if isinstance(repeats, Unbacked):
            size: Value = call.numbers.new_size(repeats.birth, call.facts, repeats.trail)
        elif isinstance(repeats, (Constant, Known)):
            size = KNOWN
        else:
            return Tensor()
    elif output is not None:
        size = bare(output)
    else:
        size = _born(call, "repeat_interleave")
    trail = size.trail if isinstance(size, Unbacked) else None
    if lone or not has_dimension:
        return Tensor((size,), True, call.tensor.boolean, trail=trail)
    dims = list(call.tensor.dims)
    if dimension is not None and -len(dims) <= dimension < len(dims) and (call.tensor.complete or dimension >= 0):
        dims[dimension] = size
        return Tensor(tuple(dims), call.tensor.complete, call.tensor.boolean, trail=trail)
    if dimension == 0:
        return Tensor((size,), False, call.tensor.boolean, trail=trail)
    return Tensor(trail=trail)


def _where(call: OperatorCall) -> Value:
    if not call.method and len(call.everything) == 1 and not call.keywords:
        return _indices(call, _born(call, "where", True))
    choices = [bare(value) for value in (*call.arguments[:2], *call.keywords.values())]
    merged = broadcast((call.tensor, *choices))
    kinds = [choice.boolean if isinstance(choice, Tensor) else False for choice in choices]
    boolean = True if kinds and all(kinds) else (False if kinds and False in kinds and None not in kinds else None)
    return replace(merged, boolean=boolean)


RULES: Mapping[str, Kernel] = {
    "nonzero": _nonzero,
    "selection": _selection,
    "unique": _unique,
    "bincount": _selection,
    "repeat_interleave": _repeat_interleave,
    "where": _where,
}
