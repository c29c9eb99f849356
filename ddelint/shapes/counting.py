"""From which value on the truth of a condition on one size repeats itself, so that counting up to there settles it."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterable

MOST_VALUES = 200_000
"""Values of one size that are tried one by one."""


def values_to_try(conditions: Iterable[ast.expr]) -> tuple[int, int] | None:
    """(first, period): the truth of conditions on one size is that of `value + period` for each value from `first` on.

    None where that is not known, or beyond what is tried. For large sizes, an expression of sums, products with
    numbers, quotients and rests by numbers is a line plus something that repeats itself: two of them cross at most at
    the distance of their constants, times the period (no slopes are nearer than one by the period).
    """
    nodes = list(conditions)
    if not all(_repeats(node) for node in nodes):
        return None
    period = math.lcm(1, *(_period(node) for node in nodes))
    first = 2 * period * (sum(map(_offset, nodes)) + 1)
    return (first, period) if first + period <= MOST_VALUES else None


def _repeats(node: ast.expr) -> bool:
    return all(_is_linear(part) for part in ast.walk(node) if isinstance(part, ast.BinOp)) and all(
        isinstance(part.func, ast.Name) and part.func.id in ("max", "min", "abs")
        for part in ast.walk(node)
        if isinstance(part, ast.Call)
    )


def _is_linear(node: ast.BinOp) -> bool:
    match node.op:
        case ast.Add() | ast.Sub():
            return True
        case ast.Mult():
            return _number(node.left) is not None or _number(node.right) is not None
        case ast.FloorDiv() | ast.Mod():
            return (_number(node.right) or 0) > 0
    return False


def _number(node: ast.expr) -> int | None:
    match node:
        case ast.Constant(value=int(value)):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(value))):
            return -value
    return None


def _period(node: ast.AST) -> int:
    if isinstance(node, ast.Subscript):
        return 1
    inner = math.lcm(1, *(_period(child) for child in ast.iter_child_nodes(node)))
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.FloorDiv, ast.Mod)):
        return inner * (_number(node.right) or 1)
    return inner


def _offset(node: ast.AST) -> int:
    """How far an expression is from a line through zero, at most."""
    match node:
        case ast.Subscript():
            return 0
        case ast.Constant(value=int(value)):
            return abs(value)
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return max(abs(_number(left) or 1) * _offset(right), abs(_number(right) or 1) * _offset(left))
        case ast.BinOp(left=left, op=ast.FloorDiv(), right=right):
            return _offset(left) // (_number(right) or 1) + 2
        case ast.BinOp(op=ast.Mod(), right=right):
            return _number(right) or 1
    return sum(_offset(child) for child in ast.iter_child_nodes(node))
