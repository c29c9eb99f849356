"""Rows of a table by a number that a test keeps in its range: some row is read, or written, where it says no, too.

What stands behind the test then runs for every number, and gives what it gave for those that the test lets through.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from ddelint.rewrite.candidate import Context
from ddelint.rewrite.parts.applied import integer, is_plain
from ddelint.rewrite.reading.kinds import Kind, Kinds
from ddelint.rewrite.reading.names import changes_in_place, names_read
from ddelint.rewrite.writing.rewrites import Expr, Part

_PLACE = "torch.full((1,), {i}, dtype=torch.int64, device={x}.device).remainder({count})"
"""In range for every number, and the same row for those that are: a negative one counts from the end."""
_ROWS = "torch.cat([{x}, {x}.new_zeros(1, *{x}.shape[1:])])"
"""Of a table that may have no row: one more, which is read where it has none."""


def rows_in_range(context: Context, test: ast.expr, path: Sequence[ast.AST]) -> dict[ast.AST, Expr]:
    """`x[i]` and `x[i, j]` on a path behind a test that reads the number `i`, each with what takes its place; and `i`
    in `x[i] = v`, where the test decides about that statement.

    A row is selected by an index that is a tensor: neither Dynamo nor Inductor (2.13) asks about that.
    """
    numbers, write, kinds = names_read(test), context.write, Kinds(context)
    found, places = dict[ast.AST, Expr](), dict[ast.Subscript, Expr]()
    decided = set(ast.walk(context.site.statement))
    for node in (node for root in path for node in ast.walk(root) if isinstance(node, ast.Subscript)):
        index, rest = _index_of(context, node)
        if index is None or not names_read(index) & numbers:
            continue
        if isinstance(node.ctx, ast.Load):
            if _is_written_to(context, node):
                continue
            place, zero = _place(context, node.value, index), ast.Constant(0)
            row = write.expr("{}.index_select(0, {})", _rows(context, node.value), place)
            found[node] = write.expr("{}[{}]", row, write.tuple([zero, *rest]) if rest else zero)
            if len(kinds.shape(node.value) or ()) == 1:
                places[node] = row
        elif isinstance(node.ctx, ast.Store) and node in decided and all(map(_is_a_part, rest)):
            found[index] = write.expr(_PLACE, x=node.value, i=index, count=write.expr("{}.shape[0]", node.value))
    for inner, chosen in places.items():  # `x[order[i]]`: where there is no place there may be no row
        outer = context.site.source.parents.get(inner)
        if not isinstance(outer, ast.Subscript) or outer.slice is not inner or not isinstance(outer.ctx, ast.Load):
            continue
        if _may_be_empty(context, outer.value) and not _is_written_to(context, outer):
            rows = write.expr("torch.sym_max({}.shape[0], 1)", outer.value)
            place = write.expr("{}.remainder({})", chosen, rows)  # one from the end is negative
            found[outer] = write.expr("{}.index_select(0, {})[0]", _rows(context, outer.value), place)
            del found[inner]
    return found


def _may_be_empty(context: Context, table: ast.expr) -> bool:
    """Whether a table that may be said several times has as many rows as data says."""
    shape = Kinds(context).shape(table) if is_plain(table) else None
    return shape is not None and shape != () and not shape[0].isdecimal()


def _rows(context: Context, table: ast.expr) -> Part:
    return context.write.expr(_ROWS, x=table) if _may_be_empty(context, table) else table


def _place(context: Context, table: ast.expr, index: ast.expr) -> Expr:
    count = context.write.expr("{}.shape[0]", table)
    if _may_be_empty(context, table):
        count = context.write.expr("torch.sym_max({}, 1)", count)
    return context.write.expr(_PLACE, x=table, i=index, count=count)


def _is_written_to(context: Context, node: ast.Subscript) -> bool:
    """Whether what is selected is changed in place: a selection by a tensor is a copy."""
    match context.site.source.parents.get(node):
        case ast.Subscript(value=value, ctx=ast.Store() | ast.Del()) if value is node:
            return True
        case ast.Attribute(attr=attr) if changes_in_place(attr):
            return True
    return False


def _is_a_part(index: ast.expr) -> bool:
    """Whether an index keeps its dimension in place, or takes it away, also where the first one is a tensor."""
    return isinstance(index, ast.Slice) or integer(index) is not None


def _index_of(context: Context, node: ast.Subscript) -> tuple[ast.expr | None, Sequence[ast.expr]]:
    """The number by which the rows of a tensor are indexed, and the indices behind it; None where it is no number."""
    index, *rest = node.slice.elts if isinstance(node.slice, ast.Tuple) and node.slice.elts else [node.slice]
    kinds = Kinds(context)
    is_number = not isinstance(index, (ast.Slice, ast.Constant)) and kinds.of(index) is Kind.NUMBER
    return (index if is_number and kinds.of(node.value) is Kind.TENSOR else None), rest
