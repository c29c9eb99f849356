"""Rows of a table by a number that a test keeps in its range: read where the test says no, too, from the nearest row.

What stands behind the test then runs for every number, and gives what it gave for those that the test lets through.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from ddelint.rewrite.candidate import Context
from ddelint.rewrite.reading.kinds import Kind, Kinds
from ddelint.rewrite.reading.names import names_read
from ddelint.rewrite.writing.rewrites import Expr

_ROW = "{x}.index_select(0, torch.full((1,), {i}, dtype=torch.int64, device={x}.device).clamp(0, {x}.shape[0] - 1))"


def rows_in_range(context: Context, test: ast.expr, path: Sequence[ast.AST]) -> dict[ast.AST, Expr]:
    """`x[i]` and `x[i, j]` on a path behind a test that reads the number `i`, each with what takes its place.

    A row is selected by an index that is a tensor: neither Dynamo nor Inductor (2.13) asks about that.
    """
    numbers, found = names_read(test), dict[ast.AST, Expr]()
    for node in (node for root in path for node in ast.walk(root)):
        for index, rest in _indexed(context, node):
            if names_read(index) & numbers:
                row = context.write.expr(_ROW, x=node.value, i=index)  # type: ignore[attr-defined]
                zero = ast.Constant(0)
                found[node] = context.write.expr("{}[{}]", row, context.write.tuple([zero, *rest]) if rest else zero)
    return found


def _indexed(context: Context, node: ast.AST) -> Iterator[tuple[ast.expr, Sequence[ast.expr]]]:
    """The number by which the rows of a tensor are indexed, and the indices behind it."""
    match node:
        case ast.Subscript(value=table, slice=ast.Tuple(elts=[index, *rest]), ctx=ast.Load()):
            pass
        case ast.Subscript(value=table, slice=index, ctx=ast.Load()):
            rest = []
        case _:
            return
    kinds = Kinds(context)
    is_number = not isinstance(index, (ast.Slice, ast.Constant)) and kinds.of(index) is Kind.NUMBER
    if is_number and kinds.of(table) is Kind.TENSOR:
        yield index, rest
