"""Operators of Python, of any two values."""

from __future__ import annotations

import ast

from ddelint.static.domain.demands import Demand
from ddelint.static.domain.facts import Facts
from ddelint.static.domain.joining import each_of, join
from ddelint.static.domain.values import (
    KNOWN,
    UNKNOWN,
    Constant,
    Known,
    Series,
    Tensor,
    Unbacked,
    Value,
    bare,
    replace,
    series,
)
from ddelint.static.transfer.elementwise import broadcast
from ddelint.static.transfer.lettered import multiplied
from ddelint.static.transfer.numbers import Numbers, folded
from ddelint.static.transfer.sizes import SIZES
from ddelint.static.transfer.truth import asks, decide


def binary(
    operator: type[ast.operator],
    left: Value,
    right: Value,
    numbers: Numbers,
    facts: Facts,
    node: ast.expr,
    demands: list[Demand],
) -> Value:
    """`left OPERATOR right` of any values."""
    left, right = bare(left), bare(right)
    if isinstance(left, Tensor) or isinstance(right, Tensor):
        if isinstance(left, Series) or isinstance(right, Series):
            return UNKNOWN
        if operator is ast.MatMult and isinstance(left, Tensor) and isinstance(right, Tensor):
            return multiplied(left, right)
        return broadcast((left, right), bitwise=operator in (ast.BitAnd, ast.BitOr, ast.BitXor))
    if isinstance(left, Series) and isinstance(right, Series) and operator is ast.Add:
        return _concatenated(left, right)
    for one, other in ((left, right), (right, left)):
        if isinstance(one, Series) and operator is ast.Mult:
            if isinstance(other, Unbacked):
                demands.append(Demand(node, "integer", other, look_into=(node,)))
            return Series(one.kind, None, each_of(one), KNOWN)
    if isinstance(left, Constant) and isinstance(left.value, str):
        if operator is ast.Mod and isinstance(right, Unbacked):
            demands.append(Demand(node, "failure", right, rule="DDE208", look_into=(node,)))
        return folded(operator, left.value, right.value) if isinstance(right, Constant) else KNOWN
    if isinstance(left, SIZES) and isinstance(right, SIZES):
        return numbers.arithmetic(operator, left, right, facts)
    for value in (left, right):
        if isinstance(value, Unbacked):
            return replace(value, form=None, comparisons=(), loose=True)
    return UNKNOWN


def unary(node: ast.UnaryOp, value: Value, facts: Facts, demands: list[Demand]) -> Value:
    """`OPERATOR value`."""
    value = bare(value)
    if isinstance(node.op, ast.Not):
        verdict = decide(value, facts)
        if verdict is None and asks(value):
            demands.append(Demand(node, "truth", value, look_into=(node.operand,)))
        return Constant(not verdict) if verdict is not None else KNOWN
    if isinstance(value, Tensor):
        return replace(value.renewed(), literal=value.literal and value.scalar)
    if isinstance(node.op, ast.USub) and isinstance(value, (Unbacked, Known)):
        form = value.form.times(-1) if value.form is not None else None
        if isinstance(value, Unbacked):
            return replace(value, form=form, topic="number", comparisons=())
        return Known(form)
    if isinstance(value, Constant) and isinstance(value.value, (int, float)):
        if isinstance(node.op, ast.USub):
            return Constant(-value.value)
        return value if isinstance(node.op, ast.UAdd) else KNOWN
    return value if isinstance(value, (Known, Unbacked)) else UNKNOWN


def _concatenated(left: Series, right: Series) -> Series:
    if left.items is not None and right.items is not None:
        return replace(series(left.items + right.items, left.kind), modules=left.modules)
    if left.items == ():
        return right
    if right.items == ():
        return left
    length = left.length if isinstance(left.length, Unbacked) else right.length
    return Series(
        left.kind,
        None,
        join(each_of(left), each_of(right)),
        length if isinstance(length, Unbacked) else KNOWN,
        head=left.head if left.items is None else left.items,
        tail=right.tail if right.items is None else right.items,
    )
