"""Conditions over `min` and `max` without these: `min(4, n)` is 4 where something else says that n is 4 or more."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from ddelint.shapes.facts import is_readable
from ddelint.shapes.linear_forms import follows


def without_extremes(text: str, given: Sequence[str]) -> str:
    """A condition, without those operands of `min` and `max` that can never be the answer where `given` holds."""

    class Chosen(ast.NodeTransformer):
        def visit_Call(self, node: ast.Call) -> ast.AST:
            self.generic_visit(node)
            if not isinstance(node.func, ast.Name) or node.func.id not in ("min", "max") or node.keywords:
                return node
            node.args = _possible(node.args, "<=" if node.func.id == "min" else ">=", given)
            return node.args[0] if len(node.args) == 1 else node

    return ast.unparse(Chosen().visit(ast.parse(text, mode="eval").body)) if is_readable(text) else text


def _possible(operands: Sequence[ast.expr], sign: str, given: Sequence[str]) -> list[ast.expr]:
    """The operands but for those to which another one is preferred whatever the sizes are."""
    left = list(operands)
    for operand in operands:
        others = [other for other in left if other is not operand]
        if any(follows(f"{ast.unparse(other)} {sign} {ast.unparse(operand)}", given) for other in others):
            left = others
    return left


def spelled_out(node: ast.expr) -> str | None:
    """`max(a, b) + c >= d` as `a + c >= d or b + c >= d`; None where no sum of a comparison has a `min` or `max`."""
    match node:
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            terms = [*_terms(left, 1), *_terms(right, -1)]
            at = next((at for at, (term, _) in enumerate(terms) if _is_extreme(term)), None)
            if at is None:
                return None
            extreme, sign = terms[at]
            assert isinstance(extreme, ast.Call)
            assert isinstance(extreme.func, ast.Name)
            rest = [*terms[:at], *terms[at + 1 :]]
            sums = [_written([(operand, sign), *rest]) for operand in extreme.args]
            return _of_operands(sums, op, (extreme.func.id == "max") == (sign > 0))
    return None


def _of_operands(sums: Sequence[str], op: ast.cmpop, largest: bool) -> str | None:
    """What is said of the largest (or smallest) of sums compared with zero, said of each."""

    def each(sign: str, any_: bool) -> str:
        return "(" + (" or " if any_ else " and ").join(f"({one}) {sign} 0" for one in sums) + ")"

    match op:
        case ast.GtE():
            return each(">=", largest)
        case ast.Gt():
            return each(">", largest)
        case ast.LtE():
            return each("<=", not largest)
        case ast.Lt():
            return each("<", not largest)
        case ast.Eq():
            return f"{each('>=', largest)} and {each('<=', not largest)}"
        case ast.NotEq():
            return f"{each('>', largest)} or {each('<', not largest)}"
    return None


def _terms(node: ast.expr, sign: int) -> Iterator[tuple[ast.expr, int]]:
    match node:
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as op, right=right):
            yield from _terms(left, sign)
            yield from _terms(right, sign if isinstance(op, ast.Add) else -sign)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            yield from _terms(operand, -sign)
        case _:
            yield node, sign


def _is_extreme(node: ast.expr) -> bool:
    match node:
        case ast.Call(func=ast.Name(id="max" | "min"), args=[_, *_], keywords=[]):
            return True
    return False


def _written(terms: Sequence[tuple[ast.expr, int]]) -> str:
    return "0 " + " ".join(f"{'+' if sign > 0 else '-'} ({ast.unparse(term)})" for term, sign in terms)
