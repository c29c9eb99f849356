"""What counts, by its text."""

from __future__ import annotations

import ast


def adds_to(target: ast.expr, value: ast.expr) -> bool:
    """Whether a value is what stands in `target`, more or less something: `self.n + 1`, `(self.n + k) % size`."""
    match value:
        case ast.BinOp(left=left, op=ast.Mod()):
            return adds_to(target, left)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return ast.unparse(target) in (ast.unparse(left), ast.unparse(right))
        case ast.BinOp(left=left, op=ast.Sub()):
            return ast.unparse(target) == ast.unparse(left)
    return False
