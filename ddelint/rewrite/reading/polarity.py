"""Which side of a test is the general one, as far as the text says: `n == 0` asks for the empty case."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from ddelint.rewrite.candidate import Context
from ddelint.rewrite.reading.kinds import Kind, Kinds
from ddelint.rewrite.reading.knowledge import knowledge
from ddelint.rewrite.reading.names import called, enclosing_block
from ddelint.sources.sites import Role

FLIPPED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.Gt,
    ast.Gt: ast.Lt,
    ast.LtE: ast.GtE,
    ast.GtE: ast.LtE,
}
IS_NONE = frozenset(((ast.Eq, 0), (ast.LtE, 0), (ast.Lt, 1)))
IS_SOME = frozenset(((ast.NotEq, 0), (ast.Gt, 0), (ast.GtE, 1)))
"""What a comparison of a size with a number asks: whether there is nothing, or something."""
_EMPTY = IS_NONE | {(ast.Eq, 1), (ast.LtE, 1), (ast.Lt, 2)}
_FILLED = IS_SOME | {(ast.NotEq, 1), (ast.Gt, 1), (ast.GtE, 2)}
_LEAST: dict[type[ast.cmpop], int] = {ast.Eq: 1, ast.NotEq: 1, ast.Lt: 0, ast.GtE: 0, ast.LtE: 1, ast.Gt: 1}
"""What a comparison of a size with a number lets pass at least: that number, or one more."""


def side_of(context: Context, test: ast.expr) -> bool | None:
    """As `general_side`; a bare number asks whether there is anything."""
    side = general_side(test)
    if side is not None:
        return side
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = side_of(context, test.operand)
        return None if inner is None else not inner
    truth = isinstance(test, (ast.Name, ast.Attribute, ast.Subscript, ast.Call, ast.BinOp))
    return True if truth and Kinds(context).of(test) is Kind.NUMBER else None


def general_side(test: ast.expr) -> bool | None:
    """The answer to `test` that stands for the general case: something is there. None where the text doesn't say.

    `mask.any()`, `n > 0`, `len(x)`, `x.shape[0] != 1` → True; `n == 0`, `not mask.any()`, `mask.all()` → False.
    """
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            inner = general_side(operand)
            return None if inner is None else not inner
        case ast.BoolOp(values=values):
            sides = {side for value in values if (side := general_side(value)) is not None}
            return sides.pop() if len(sides) == 1 else None
        case ast.Compare(left=ast.Constant(value=0), ops=[ast.In() | ast.NotIn() as operator]):
            return isinstance(operator, ast.NotIn)
        case ast.Compare(left=left, ops=[operator], comparators=[right]):
            return _compared(left, operator, right)
        case ast.Call() if called(test) in {"bool", "item", "int"}:
            inner_node = test.args[0] if test.args else getattr(test.func, "value", None)
            return general_side(inner_node) if isinstance(inner_node, ast.expr) else None
        case ast.Call(
            func=ast.Name(id="any" | "all"), args=[ast.GeneratorExp(elt=element) | ast.ListComp(elt=element)]
        ):
            return general_side(element)
        case ast.Call() if called(test) in knowledge().present:
            return True
        case ast.Call() if called(test) in {"all", "equal", "allclose"}:
            return False
        case ast.Subscript(value=ast.Attribute(attr="shape")):
            return True
    return None


def _compared(left: ast.expr, operator: ast.cmpop, right: ast.expr) -> bool | None:
    kind = type(operator)
    if isinstance(left, ast.Constant) and not isinstance(right, ast.Constant):
        left, right, kind = right, left, FLIPPED.get(kind, kind)
    if isinstance(right, ast.Constant) and isinstance(right.value, int):
        if (kind, int(right.value)) in _EMPTY:
            return False
        if (kind, int(right.value)) in _FILLED:
            return True
    # an equality between two numbers is the special case
    return {ast.Eq: False, ast.NotEq: True}.get(kind)


def least_behind(operator: ast.cmpop, bound: int | None) -> int:
    """How many there are at least on the general side of `n < bound`, `n >= bound`, …; 0 where that isn't known."""
    return 0 if bound is None or type(operator) not in _LEAST else bound + _LEAST[type(operator)]


def least_where(operator: ast.cmpop, bound: int | None, answer: bool) -> int:
    """How many there are at least where `n > bound`, `n == bound`, … comes to `answer`; 0 where that isn't known."""
    if isinstance(operator, (ast.Eq, ast.NotEq)):
        return int(bound == 0 and answer is isinstance(operator, ast.NotEq))
    says = answer is isinstance(operator, (ast.Gt, ast.GtE))
    return least_behind(operator, bound) if says else 0


def general_path(context: Context, test: ast.expr, side: bool) -> list[ast.AST]:
    """What runs on the general side: that arm, and the statements that follow."""
    site = context.site
    if isinstance(site.statement, ast.If) and site.role is Role.IF_TEST:
        arm: Sequence[ast.stmt] = site.statement.body if side else site.statement.orelse
        block = enclosing_block(site.source, site.statement)
        return [*arm, *block[block.index(site.statement) + 1 :]]
    parent = site.source.parents.get(test)
    if isinstance(parent, ast.IfExp):
        return [parent.body if side else parent.orelse]
    return []
