"""The table of operators: what each answers, by the shapes of answer that rules/operators.toml names."""

from __future__ import annotations

from collections.abc import Mapping

from ddelint.knowledge.operators import operators
from ddelint.static.domain.values import UNKNOWN, Tensor, Value, replace
from ddelint.static.transfer import (
    creation,
    elementwise,
    lettered,
    reads,
    rearranged,
    reductions,
    selections,
    several,
    sizes,
    views,
)
from ddelint.static.transfer.contents import annotated
from ddelint.static.transfer.demanding import demand_static
from ddelint.static.transfer.elementwise import of_literals
from ddelint.static.transfer.operator_call import Kernel, OperatorCall

_ELEMENT_BY_ELEMENT = frozenset(("same", "same_number", "same_mask", "broadcast", "broadcast_mask", "converted"))
"""Of one number that the compiler knows, answers of these shapes are one that it knows."""


RULES: Mapping[str, Kernel] = {
    **elementwise.RULES,
    **reductions.RULES,
    **selections.RULES,
    **reads.RULES,
    **sizes.RULES,
    **creation.RULES,
    **views.RULES,
    **several.RULES,
    **lettered.RULES,
    **rearranged.RULES,
}


def answer(call: OperatorCall) -> Value:
    """The operator's answer; arguments that must be static, or be ints, are asked for on the way."""
    behaviour = operators().returns.get(call.name)
    if behaviour is None and call.name not in operators().asks_of_elements:
        return UNKNOWN
    demand_static(call)
    if behaviour is None:
        return UNKNOWN
    found = RULES[behaviour](call)
    if call.name in operators().origins or call.tensor.content is not None:
        found = annotated(call, found)
    if behaviour in _ELEMENT_BY_ELEMENT and isinstance(found, Tensor) and found.scalar:
        return replace(found, literal=of_literals(call, behaviour))
    return found
