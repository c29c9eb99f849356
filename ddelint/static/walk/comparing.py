"""Comparisons, link by link."""

from __future__ import annotations

import ast

from ddelint.static.domain.demands import Demand
from ddelint.static.domain.linear import Comparison
from ddelint.static.domain.state import State
from ddelint.static.domain.values import KNOWN, Constant, Unbacked, Value, bare, replace
from ddelint.static.transfer.truth import asks, compared, decide
from ddelint.static.walk.walker import Walker


def compare(walker: Walker, node: ast.Compare, state: State) -> Value:
    """A comparison."""
    if len(node.ops) > 1:
        return chain(walker, node, state, in_test=False)
    left = walker.evaluate(node.left, state)
    right = walker.evaluate(node.comparators[0], state)
    return compared_link(walker, node, node.ops[0], left, right, state)


def chain(walker: Walker, node: ast.Compare, state: State, in_test: bool, whole: ast.expr | None = None) -> Value:
    """`a < b < c`: Python asks for the truth of every link but the last, and a test asks for the last, too."""
    values = [walker.evaluate(operand, state) for operand in (node.left, *node.comparators)]
    asked = False
    result: Value = KNOWN
    comparisons: list[Comparison] = []
    for position, operator in enumerate(node.ops):
        result = bare(compared_link(walker, node, operator, values[position], values[position + 1], state))
        verdict = decide(result, state.facts)
        if verdict is False:
            return Constant(False)
        last = position == len(node.ops) - 1
        if verdict is None and asks(result):
            if isinstance(result, Unbacked):
                comparisons += result.comparisons
            if not last and not asked:
                asked = True
                walker.record(whole or node, "truth", result, parts=walker.parts(node, state))
        if last:
            if asked and in_test:
                return KNOWN
            if isinstance(result, Unbacked) and in_test:
                return replace(result, comparisons=tuple(comparisons))
            return result
    return result


def compared_link(
    walker: Walker, node: ast.Compare, operator: ast.cmpop, left: Value, right: Value, state: State
) -> Value:
    """One link of a comparison."""
    demands: list[Demand] = []
    value = compared(node, operator, left, right, state.facts, demands)
    if demands:
        walker.record_all(demands, state)
    return value
