"""How far an input was from taking the other side of a decision: the branch distance of search-based testing.

`n > 4` with n = 2 is 3 away from being true. `and` adds, `or` takes the smaller, `.all()` adds over the elements and
`.any()` takes the smallest (P. McMinn, Search-based software test data generation: a survey, 2004).
"""

from __future__ import annotations

import ast
import contextlib
import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import torch

Shape = tuple[Any, ...]
"""A test's build: ("part", number), ("not", S), ("and" | "or", [S, …]), ("all" | "any", S)."""

Difference: TypeAlias = float | torch.Tensor
"""By how much two numbers differ, or the elements of two tensors."""

_OPERATORS: dict[type[ast.cmpop], tuple[str, Callable[[Any, Any], Any]]] = {
    ast.Gt: (">", operator.gt),
    ast.GtE: (">=", operator.ge),
    ast.Lt: ("<", operator.lt),
    ast.LtE: ("<=", operator.le),
    ast.Eq: ("==", operator.eq),
    ast.NotEq: ("!=", operator.ne),
}
COMPARE: Mapping[str, Callable[[Any, Any], Any]] = dict(_OPERATORS.values())
"""What each comparison does, by its sign."""
_CONTRARY = {">": "<=", "<=": ">", "<": ">=", ">=": "<", "==": "!=", "!=": "=="}
_NEXT = 1e-9
"""What lies between equal and unequal."""
_LARGEST = 1 << 20
"""Elements up to which a compared tensor is looked at."""


@dataclass(frozen=True)
class Part:
    """One comparison inside a test."""

    node: ast.Compare
    sign: str


def parts_of(test: ast.expr) -> tuple[Shape | None, list[Part]]:
    """How a test is built of comparisons, and these; None where it isn't built of what has a distance."""
    parts: list[Part] = []
    shape = _shape(test, parts)
    return shape, parts if shape is not None else []


def _shape(node: ast.expr, parts: list[Part]) -> Shape | None:
    match node:
        case ast.Compare(ops=[sign], comparators=[_]) if type(sign) in _OPERATORS:
            parts.append(Part(node, _OPERATORS[type(sign)][0]))
            return ("part", len(parts) - 1)
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            below = _shape(inner, parts)
            return ("not", below) if below is not None else None
        case ast.BoolOp(op=sign, values=values):
            shapes = [found for value in values if (found := _shape(value, parts)) is not None]
            return ("and" if isinstance(sign, ast.And) else "or", shapes) if shapes else None
        case ast.Call(func=ast.Attribute(attr="item"), args=[]):
            assert isinstance(node.func, ast.Attribute)
            return _shape(node.func.value, parts)
        case ast.Call(func=ast.Name(id="bool"), args=[inner], keywords=[]):
            return _shape(inner, parts)
        case ast.Call(func=ast.Attribute(value=ast.Name(id="torch"), attr="all" | "any" as reduction), args=[inner]):
            below = _shape(inner, parts)
            return (reduction, below) if below is not None else None
        case ast.Call(func=ast.Attribute(value=inner, attr="all" | "any" as reduction), args=[]):
            below = _shape(inner, parts)
            return (reduction, below) if below is not None else None
    return None


def difference(left: Any, right: Any) -> Difference | None:
    """`left - right`, element by element, as float64; a number, where each is one. None where they are none."""
    with contextlib.suppress(Exception):
        number, its = _number(left), _number(right)
        if number is not None and its is not None:
            return number - its
        one, other = (torch.as_tensor(side).detach() for side in (left, right))
        if max(one.numel(), other.numel()) <= _LARGEST and not (one.is_complex() or other.is_complex()):
            return (one.to("cpu", torch.float64) - other.to("cpu", torch.float64)).reshape(-1)
    return None


def _number(value: Any) -> float | None:
    """A number, or the one that a tensor without dimensions holds."""
    if isinstance(value, torch.Tensor):
        return None if value.dim() or value.is_complex() else float(value.detach())
    return float(value) if isinstance(value, (bool, int, float)) else None


def distance(shape: Shape, values: Mapping[int, tuple[str, Difference]], want: bool) -> float:
    """How far the test is from being `want`, 0 where it is; inf where nothing says.

    `values` holds each evaluated comparison's sign and difference.
    """
    kind, below = shape
    if kind == "part" and below in values and isinstance(values[below][1], float):
        sign, by = values[below]  # as most are: tensors for these took as long as what programs do in between
        return _violation_of_one(sign if want else _CONTRARY[sign], by)
    far = _far(shape, values, want)
    return math.inf if far is None else float(far.min()) if far.numel() else math.inf


def _far(shape: Shape, values: Mapping[int, tuple[str, Difference]], want: bool) -> torch.Tensor | None:
    kind, below = shape
    if kind == "part":
        if below not in values:
            return None
        sign, by = values[below]
        elements = torch.tensor([by], dtype=torch.float64) if isinstance(by, float) else by
        return _violation(sign if want else _CONTRARY[sign], elements)
    if kind == "not":
        return _far(below, values, not want)
    if kind in ("all", "any"):
        far = _far(below, values, want)
        if far is None or not far.numel():
            return None
        return (far.sum() if (kind == "all") is want else far.min()).reshape(1)
    found = [_far(inner, values, want) for inner in below]
    # what was not evaluated stands behind what decided: reaching it is what counts first
    known = [far.max() for far in found if far is not None and far.numel()]
    if not known:
        return None
    stacked = torch.stack(known)
    return (stacked.sum() if (kind == "and") is want else stacked.min()).reshape(1)


def _violation(sign: str, by: torch.Tensor) -> torch.Tensor:
    """How far each element is from satisfying the comparison; NaN says nothing."""
    match sign:
        case ">":
            far = torch.where(by > 0, 0.0, _NEXT - by)
        case ">=":
            far = (-by).clamp(min=0)
        case "<":
            far = torch.where(by < 0, 0.0, by + _NEXT)
        case "<=":
            far = by.clamp(min=0)
        case "==":
            far = by.abs()
        case _:
            far = (by == 0).double()
    return torch.where(by.isnan(), torch.inf, far)


def _violation_of_one(sign: str, by: float) -> float:
    """The same for one number."""
    if math.isnan(by):
        return math.inf
    match sign:
        case ">":
            return 0.0 if by > 0 else _NEXT - by
        case ">=":
            return max(-by, 0.0)
        case "<":
            return 0.0 if by < 0 else by + _NEXT
        case "<=":
            return max(by, 0.0)
        case "==":
            return abs(by)
    return float(by == 0)
