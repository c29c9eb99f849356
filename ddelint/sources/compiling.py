"""What a test answers while compiling, by its text alone, and what runs there for it."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterable, Iterator

_LEAVES = (ast.Return, ast.Raise, ast.Break, ast.Continue)


def answer_while_compiling(test: ast.expr) -> bool | None:
    """How a test comes out while compiling, whatever the data is; None where that hangs on more."""
    match test:
        case ast.Call(func=ast.Attribute(attr="is_compiling") | ast.Name(id="is_compiling"), args=[], keywords=[]):
            return True
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            answer = answer_while_compiling(operand)
            return None if answer is None else not answer
        case ast.BoolOp(op=operator, values=values):
            decides = isinstance(operator, ast.Or)
            return decides if decides in map(answer_while_compiling, values) else None
    return None


@functools.lru_cache(maxsize=16)
def rows_while_compiling(tree: ast.AST, ran: frozenset[int]) -> frozenset[int]:
    """The rows that only a compiler runs, given those that `ran` in eager: of branches that it certainly takes.

    A branch counts up to the first statement behind which nobody knows whether the next one is reached.
    """
    asked = (node for node in ast.walk(tree) if isinstance(node, ast.If) and node.test.lineno in ran)
    return frozenset(row for node in asked for row in _rows_of(node))


def _rows_of(node: ast.If) -> Iterator[int]:
    answer = answer_while_compiling(node.test)
    if answer is not None:
        yield from _rows_run(node.body if answer else node.orelse)


def _rows_run(statements: Iterable[ast.stmt]) -> Iterator[int]:
    for statement in statements:
        if isinstance(statement, ast.If):
            yield from range(statement.test.lineno, (statement.test.end_lineno or statement.test.lineno) + 1)
            yield from _rows_of(statement)
        elif not hasattr(statement, "body"):
            yield from range(statement.lineno, (statement.end_lineno or statement.lineno) + 1)
        if any(isinstance(inner, _LEAVES) for inner in ast.walk(statement)):
            return
