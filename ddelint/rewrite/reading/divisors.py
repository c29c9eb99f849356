"""Numbers that something is divided by: whether they are above zero, by themselves or where a test says so."""

from __future__ import annotations

import ast
import math

from ddelint.rewrite.reading.around import is_count
from ddelint.rewrite.reading.kinds import Kinds
from ddelint.rewrite.reading.names import opposite
from ddelint.sources.comparing import MIRRORED

_LEAST: dict[type[ast.cmpop], int] = {ast.Gt: 0, ast.GtE: 1, ast.Eq: 1}
"""The least bound of which a comparison says that a count is none of zero."""


def least_said(test: ast.expr | None, number: ast.expr, true: bool) -> ast.expr | None:
    """The positive constant that a test says a number is no smaller than, where it is true, or false."""
    match test:
        case ast.Compare(left=left, ops=[sign], comparators=[right]):
            above = isinstance(sign, (ast.Gt, ast.GtE) if true else (ast.Lt, ast.LtE))
            return right if above and _is_positive(right) and _said(left) == _said(number) else None
    return None


def counts_something(kinds: Kinds, test: ast.expr | None, count: ast.expr, true: bool) -> bool:
    """Whether a count is none of zero where a test is true, or false."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return counts_something(kinds, operand, count, not true)
        case ast.BoolOp(op=operator, values=values) if isinstance(operator, ast.And) is true:
            return any(counts_something(kinds, value, count, true) for value in values)
        case ast.Compare(left=left, ops=[sign], comparators=[right]) if type(sign) in MIRRORED:
            if _said(right) == _said(count):
                left, sign, right = right, MIRRORED[type(sign)](), left
            bound = _known(kinds, right)
            if _said(left) != _said(count) or bound is None or not is_count(kinds, left):
                return False
            holds = type(sign) if true else opposite(sign)
            return bound == 0 if holds is ast.NotEq else bound >= _LEAST.get(holds, math.inf)
        case ast.expr():
            return true and _said(test) == _said(count) and is_count(kinds, test)
    return False


def is_above_zero(kinds: Kinds, node: ast.expr) -> bool:
    """Whether a number is positive whatever was read: `max(n, 1)`, `count + 1`."""
    match node:
        case ast.Call(func=ast.Name(id="max") | ast.Attribute(attr="sym_max"), args=[*parts]):
            return any(map(_is_positive, parts))
        case ast.BinOp(op=ast.Add(), left=left, right=right):
            return any(_is_positive(one) and is_count(kinds, other) for one, other in ((left, right), (right, left)))
    return False


def _known(kinds: Kinds, node: ast.expr) -> int | None:
    """A known whole number, of the text or of the object that was run."""
    fact = kinds.fact(node)
    text = fact.value if fact is not None and fact.kind == "int" and fact.value else ast.unparse(node)
    return int(text) if text.removeprefix("-").isdecimal() else None


def _said(node: ast.expr) -> str:
    """A number by its name, also where the test gives it that."""
    return node.target.id if isinstance(node, ast.NamedExpr) else ast.unparse(node)


def _is_positive(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float) and node.value > 0
