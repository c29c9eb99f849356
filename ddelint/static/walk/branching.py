"""Tests: what holds where they are true and where they are false."""

from __future__ import annotations

import ast

from ddelint.static.domain.joining import join
from ddelint.static.domain.linear import Comparison
from ddelint.static.domain.state import Meeting, State
from ddelint.static.domain.values import Unbacked, Value, bare
from ddelint.static.transfer.truth import asks, decide
from ddelint.static.walk.comparing import chain
from ddelint.static.walk.narrowing import narrow, without_none
from ddelint.static.walk.walker import Walker


def branch(
    walker: Walker, node: ast.expr, state: State, whole: ast.expr | None = None
) -> tuple[State | None, State | None]:
    """The states in which a test is true and false; None for a side that cannot be reached.

    Undecided operands are recorded, each by itself; with `whole`, the whole test is recorded once instead.
    """
    positive = True
    while isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        node, positive = node.operand, not positive
    if isinstance(node, ast.BoolOp):
        conjunction = isinstance(node.op, ast.And)
        left = Meeting()
        current: State | None = state
        for operand in node.values:
            if current is None:
                break
            true, false = branch(walker, operand, current, whole)
            leaves, current = (false, true) if conjunction else (true, false)
            if leaves is not None:
                left.add(leaves)
        true, false = (current, left.joined()) if conjunction else (left.joined(), current)
    else:
        true, false = split(walker, node, _test_value(walker, node, state, whole), state, whole)
    return (true, false) if positive else (false, true)


def _test_value(walker: Walker, node: ast.expr, state: State, whole: ast.expr | None) -> Value:
    if isinstance(node, ast.Compare) and len(node.ops) > 1:
        return chain(walker, node, state, in_test=True, whole=whole)
    return walker.evaluate(node, state)


def split(
    walker: Walker, node: ast.expr, value: Value, state: State, whole: ast.expr | None = None
) -> tuple[State | None, State | None]:
    """The states in which a value that `node` gave is true and false."""
    verdict = decide(value, state.facts)
    if verdict is not None:
        return (state, None) if verdict else (None, state)
    asking = bare(value)
    if asks(asking):
        walker.record(whole or node, "truth", asking, parts=walker.parts(node, state))
    true, false = state.copy(), state
    if isinstance(asking, Unbacked):
        comparisons = asking.comparisons
        if not comparisons and asking.form is not None:
            comparisons = (Comparison(asking.form, ast.NotEq),)
        for comparison in comparisons:
            true.facts.learn(comparison)
        if len(comparisons) == 1:
            false.facts.learn(comparisons[0].negated())
    narrow(walker, node, true, True)
    narrow(walker, node, false, False)
    return true, false


def boolean(walker: Walker, node: ast.BoolOp, state: State) -> Value:
    conjunction = isinstance(node.op, ast.And)
    results: list[Value] = []
    asked = False
    current = state.copy()
    for position, operand in enumerate(node.values):
        value = walker.evaluate(operand, current)
        if position == len(node.values) - 1:
            results.append(value)
            break
        verdict = decide(value, current.facts)
        if verdict is None and asks(value) and not asked:
            asked = True
            walker.record(node, "truth", bare(value), parts=walker.parts(node, state))
        if verdict is (not conjunction):
            results.append(value)
            break
        if verdict is None:
            results.append(value)
            walker.quiet += 1
            true, false = split(walker, operand, value, current)
            walker.quiet -= 1
            following = true if conjunction else false
            if following is None:
                break
            current = following
    result = results[0]
    for other in results[1:]:
        result = join(result, other)
    if not conjunction and len(results) > 1:
        result = without_none(result)
    return result
