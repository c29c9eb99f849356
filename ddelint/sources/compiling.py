"""What a test answers while compiling, by its text alone."""

from __future__ import annotations

import ast


def answer_while_compiling(test: ast.expr) -> bool | None:
    """How a test comes out while compiling, whatever the data is; None where that hangs on more."""
    match test:
        case ast.Call(func=ast.Attribute(attr="is_compiling"), args=[], keywords=[]):
            return True
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            answer = answer_while_compiling(operand)
            return None if answer is None else not answer
        case ast.BoolOp(op=operator, values=values):
            decides = isinstance(operator, ast.Or)
            return decides if decides in map(answer_while_compiling, values) else None
    return None
