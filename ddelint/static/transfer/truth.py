"""The truth of values: what is settled, what asks, and what comparisons give."""

from __future__ import annotations

import ast

from ddelint.knowledge.operators import operators
from ddelint.static.domain.demands import Demand
from ddelint.static.domain.facts import Facts, decide_all
from ddelint.static.domain.joining import each_of
from ddelint.static.domain.linear import Comparison, Linear, fresh_symbol
from ddelint.static.domain.values import (
    KNOWN,
    NONE,
    UNKNOWN,
    Alternatives,
    ClassReference,
    Constant,
    Function,
    Instance,
    Known,
    Method,
    Module,
    Partial,
    Path,
    Series,
    Table,
    Tensor,
    Unbacked,
    Value,
    bare,
    form_of,
    replace,
)
from ddelint.static.transfer.elementwise import broadcast
from ddelint.static.transfer.numbers import shared_topic
from ddelint.static.transfer.sizes import SIZES


def asks(value: Value) -> bool:
    """Whether Python's truth of the value is a question about data."""
    value = bare(value)
    return isinstance(value, (Tensor, Unbacked))


def decide(value: Value, facts: Facts) -> bool | None:
    """The truth of a value where it is settled; None where it isn't."""
    if isinstance(value, Constant):
        return bool(value.value)
    if isinstance(value, Unbacked):
        comparisons = value.comparisons
        if not comparisons and value.form is not None:
            comparisons = (Comparison(value.form, ast.NotEq),)
        return decide_all(facts, comparisons) if comparisons else None
    if isinstance(value, Series) and isinstance(value.length, Constant):
        return bool(value.length.value)
    if isinstance(value, (Function, ClassReference, Method, Partial)):
        return True
    if isinstance(value, Alternatives):
        return True if all(decide(option, facts) for option in value.options) else None
    if isinstance(value, Path) and value.name in operators().regions["false_at_run_time"]:
        return False
    return None


def compared(
    node: ast.Compare, operator: ast.cmpop, left: Value, right: Value, facts: Facts, demands: list[Demand]
) -> Value:
    """One link of a comparison."""
    if isinstance(operator, (ast.Is, ast.IsNot)):
        return _identity(operator, left, right)
    left, right = bare(left), bare(right)
    if isinstance(operator, (ast.In, ast.NotIn)):
        return _membership(node, left, right, demands)
    if isinstance(left, Tensor) or isinstance(right, Tensor):
        if isinstance(left, (Series, Table)) or isinstance(right, (Series, Table)) or NONE in (left, right):
            return UNKNOWN
        if _is_text(left) or _is_text(right):
            return KNOWN  # what is compared with text is none
        return broadcast((left, right), mask=True)
    if isinstance(left, Unbacked) or isinstance(right, Unbacked):
        return _undecided(operator, left, right)
    if isinstance(left, Constant) and isinstance(right, Constant):
        return _compared_constants(operator, left.value, right.value)
    if isinstance(left, Series) and isinstance(right, Series):
        return _compared_runs(node, operator, left, right, facts, demands)
    if isinstance(left, (Known, Constant)) and isinstance(right, (Known, Constant)):
        return _known_comparison(operator, left, right, facts)
    return UNKNOWN if UNKNOWN in (left, right) else KNOWN


def _compared_runs(
    node: ast.Compare, operator: ast.cmpop, left: Series, right: Series, facts: Facts, demands: list[Demand]
) -> Value:
    """`x.shape == y.shape`: Python compares element by element, and asks at once."""
    if not isinstance(operator, (ast.Eq, ast.NotEq)):
        return KNOWN
    if left.items is None or right.items is None:
        pairs = [(each_of(left), each_of(right))]
    elif len(left.items) != len(right.items):
        return Constant(isinstance(operator, ast.NotEq))
    else:
        pairs = list(zip(left.items, right.items, strict=True))
    for one, other in pairs:
        one, other = bare(one), bare(other)
        if isinstance(one, SIZES) and isinstance(other, SIZES):
            result = _undecided(ast.Eq(), one, other) if asks(one) or asks(other) else KNOWN
            if asks(result) and decide(result, facts) is None:
                demands.append(Demand(node, "truth", result, parts=((node, result),), look_into=(node,)))
                break
    return KNOWN


def _known_comparison(operator: ast.cmpop, left: Value, right: Value, facts: Facts) -> Value:
    first, second = form_of(left), form_of(right)
    if first is None or second is None:
        return KNOWN
    verdict = facts.decide(Comparison(first.plus(second, -1), type(operator)))
    # an input's size of 0 is left open: such code has its reasons
    return KNOWN if verdict is None else Constant(verdict)


def _undecided(operator: ast.cmpop, left: Value, right: Value) -> Value:
    if any(isinstance(v, Constant) and not isinstance(v.value, (int, float)) for v in (left, right)):
        return KNOWN
    unbacked = [value for value in (left, right) if isinstance(value, Unbacked)]
    if any(isinstance(v, (Series, Table, Function, Module, Instance)) for v in (left, right)):
        return KNOWN
    topic = shared_topic(unbacked)
    first, second = form_of(left), form_of(right)
    # what is compared with something unknown is a truth value all the same, of which only that is known
    difference = Linear.of(fresh_symbol()) if first is None or second is None else first.plus(second, -1)
    comparison = Comparison(difference, type(operator))
    loose = unbacked[0].loose or UNKNOWN in (left, right)
    return replace(unbacked[0], topic=topic, form=None, comparisons=(comparison,), loose=loose)


def _is_text(value: Value) -> bool:
    return isinstance(value, Constant) and isinstance(value.value, str)


def _membership(node: ast.Compare, left: Value, right: Value, demands: list[Demand]) -> Value:
    if isinstance(right, Tensor):
        if not _is_text(left):
            # text is looked for in a dict or in text: what has it is no tensor, whatever it looked like
            demands.append(Demand(node, "truth", right, look_into=(node,)))
        return KNOWN
    elements: Value = UNKNOWN
    if isinstance(right, Series):
        if right.items == ():
            return Constant(isinstance(node.ops[0], ast.NotIn))
        if right.items and all(map(_is_text, right.items)):
            return KNOWN  # what is looked for among words is none
        elements = each_of(right)
    if isinstance(left, (Tensor, Unbacked)) and isinstance(right, (Series, Table)):
        demands.append(Demand(node, "truth", left, look_into=(node,)))
    elif isinstance(elements, (Tensor, Unbacked)) and isinstance(left, (Tensor, Known, Constant)):
        if isinstance(left, Constant) and not isinstance(left.value, (int, float)):
            return KNOWN
        demands.append(Demand(node, "truth", elements, look_into=(node,)))
    return KNOWN


def _identity(operator: ast.cmpop, left: Value, right: Value) -> Value:
    same = isinstance(operator, ast.Is)
    if right == NONE or left == NONE:
        other = left if right == NONE else right
        if other == NONE:
            return Constant(same)
        if isinstance(
            other, (Constant, Tensor, Unbacked, Series, Table, Instance, Function, Module, Partial, Alternatives)
        ):
            return Constant(not same)
        if isinstance(other, Known) and other.form is not None:  # a size, or what was computed from sizes
            return Constant(not same)
    return KNOWN


def _compared_constants(operator: ast.cmpop, left: object, right: object) -> Value:
    simple = (int, float, str, bool)
    if not isinstance(left, simple) or not isinstance(right, simple):
        return KNOWN
    if isinstance(operator, ast.Eq):
        return Constant(left == right)
    if isinstance(operator, ast.NotEq):
        return Constant(left != right)
    if isinstance(left, str) or isinstance(right, str):
        return KNOWN
    if isinstance(operator, ast.Lt):
        return Constant(left < right)
    if isinstance(operator, ast.LtE):
        return Constant(left <= right)
    if isinstance(operator, ast.Gt):
        return Constant(left > right)
    return Constant(left >= right)
