"""What nothing is known of but that a method is called on it which tensors have, and little else."""

from __future__ import annotations

import ast

from ddelint.knowledge.operators import operators
from ddelint.static.domain.state import State
from ddelint.static.domain.values import UNKNOWN, Tensor
from ddelint.static.walk.walker import Walker


def tensor_by_method(walker: Walker, function: ast.Attribute, state: State) -> Tensor | None:
    """The tensor that a method is called on; None where it may be something else.

    `x.max().item()` reads a tensor: nothing else has both methods. So does `x.item()` where the function does nothing
    with arrays.
    """
    known = operators()
    method, receiver = function.attr, function.value
    behaviour = known.returns.get(method, "")
    sure = method in known.sure_methods
    if not sure and not behaviour.startswith("reduction") and behaviour not in known.regions["array_reads"]:
        return None
    if walker.value_of(receiver, state) != UNKNOWN:
        return None
    if behaviour == "item" and isinstance(receiver, ast.Call) and isinstance(receiver.func, ast.Attribute):
        reduction = known.returns.get(receiver.func.attr, "")
        if reduction.startswith("reduction"):
            return Tensor((), True, True if reduction == "reduction_mask" else None)
    return Tensor() if sure or not walker.uses_arrays else None
