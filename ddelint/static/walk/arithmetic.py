"""Operators of Python, applied."""

from __future__ import annotations

import ast

from ddelint.static.domain.demands import Demand
from ddelint.static.domain.state import State
from ddelint.static.domain.values import Value
from ddelint.static.transfer.binary import binary, unary
from ddelint.static.walk.walker import Walker


def binary_expression(walker: Walker, node: ast.BinOp, left: Value, state: State) -> Value:
    """`left OPERATOR right`."""
    right = walker.evaluate(node.right, state)
    return computed(walker, type(node.op), left, right, state, node)


def computed(
    walker: Walker, operator: type[ast.operator], left: Value, right: Value, state: State, node: ast.expr
) -> Value:
    """What an operator makes of two values; `node` asks what it demands."""
    demands: list[Demand] = []
    value = binary(operator, left, right, walker.numbers, state.facts, node, demands)
    if demands:
        walker.record_all(demands, state)
    return value


def unary_expression(walker: Walker, node: ast.UnaryOp, value: Value, state: State) -> Value:
    """`OPERATOR value`."""
    demands: list[Demand] = []
    result = unary(node, value, state.facts, demands)
    if demands:
        walker.record_all(demands, state)
    return result
