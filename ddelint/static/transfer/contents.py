"""What an operator's name says of the elements of its answer: bounds, and whether they ascend."""

from __future__ import annotations

import math

from ddelint.knowledge.operators import operators
from ddelint.static.domain.linear import Linear
from ddelint.static.domain.values import Constant, Content, Path, Series, Tensor, Value, bare, form_of, replace
from ddelint.static.transfer.operator_call import OperatorCall
from ddelint.static.transfer.sizes import element_count

NOTHING = Content()


def annotated(call: OperatorCall, answer: Value) -> Value:
    """The answer of an operator, with what its elements are known to be."""
    if isinstance(answer, Tensor):
        return _tensor(call, answer)
    if isinstance(answer, Series) and answer.kind == "pair" and answer.items is not None:
        first = answer.items[0]
        if isinstance(first, Tensor):
            return replace(answer, items=(_tensor(call, first), *answer.items[1:]))
    return answer


def _tensor(call: OperatorCall, answer: Tensor) -> Tensor:
    content = _content(call)
    return answer if answer.content == content else replace(answer, content=content)


def _content(call: OperatorCall) -> Content | None:
    known, name, tensor = operators(), call.name, call.tensor
    how = known.origins.get(name)
    if how is None:
        return None
    content = tensor.content or NOTHING
    if how == "count" and tensor.boolean:
        return Content(0, _count(call), "a count of a mask is at least 0 and at most its size")
    if how in ("count", "sign_kept"):
        return replace(content, high=None, ascending=False) if content.low >= 0 else None
    if how in ("elements", "converted"):
        return _unsigned(call) or tensor.content
    if how == "ascending":
        return replace(content, ascending=True)
    if how == "running_total":
        return replace(content, high=None, ascending=True) if content.low >= 0 else None
    if how == "difference":
        return Content(0, None, "the differences of a sorted tensor are at least 0") if content.ascending else None
    if how == "index":
        return _index(call)
    if how == "clamped":
        return _clamped(call, content)
    return Content(0, None, known.reasons[how])


def _count(call: OperatorCall) -> Linear | None:
    """How many elements there are at most."""
    if "dim" in call.keywords or call.arguments:
        return None
    whole = element_count(call.tensor, call.numbers, call.facts)
    return form_of(whole)


def _index(call: OperatorCall) -> Content:
    reason = operators().reasons["index"]
    given = call.argument(0, "dim", "axis")
    if given is None:
        return Content(0, _less_one(_count(call)), reason)
    position = call.integer(0, "dim", "axis")
    dims = call.tensor.dims
    if position is not None and call.tensor.complete and -len(dims) <= position < len(dims):
        return Content(0, _less_one(form_of(dims[position])), reason)
    return Content(0, None, reason)


def _less_one(form: Linear | None) -> Linear | None:
    return None if form is None else form.plus(Linear((), 1), -1)


def _clamped(call: OperatorCall, content: Content) -> Content | None:
    places = operators().clamps[call.name]
    low, high = content.low, content.high
    for position, keyword in enumerate(places):
        given = bare(call.argument(position, keyword) or Constant(None)) if keyword else Constant(None)
        if isinstance(given, Constant) and isinstance(given.value, (int, float)):
            if keyword == "min":
                low = max(low, given.value)
            elif type(given.value) is int:
                high = Linear((), given.value)
    return Content(low, high, "it is clamped") if low > -math.inf or high is not None else None


def _unsigned(call: OperatorCall) -> Content | None:
    for value in (*call.arguments, *call.keywords.values()):
        if isinstance(value, Path) and value.name.rsplit(".", 1)[-1] in operators().unsigned:
            return Content(0, None, operators().reasons["unsigned"])
    return None
