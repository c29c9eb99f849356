"""`min(4, n)` is 4 where something else says that n is 4 or more."""

from __future__ import annotations

import ast
from collections.abc import Sequence

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
