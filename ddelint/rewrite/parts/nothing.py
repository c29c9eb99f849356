"""Reductions that raise where there is nothing, each over one element more that is never the one that is looked for.

What stands behind an emptiness test then runs of nothing, too, and gives for something what it gave before.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import replace

from ddelint.rewrite.candidate import Context
from ddelint.rewrite.parts.applied import applied, integer, is_plain
from ddelint.rewrite.reading.changes_of_calls import run_by_calls
from ddelint.rewrite.reading.kinds import Kind, Kinds
from ddelint.rewrite.reading.knowledge import knowledge
from ddelint.rewrite.reading.names import called
from ddelint.rewrite.reading.polarity import general_side
from ddelint.rewrite.writing.rewrites import Expr, Part
from ddelint.sources.sites import site_of


def of_nothing_too(context: Context, path: Sequence[ast.AST], *, known: bool) -> dict[ast.AST, Expr]:
    """The operands of the reductions on a path that may be of nothing, each with what takes its place.

    Functions of the same file that are called there are on the path, but for those that ask for themselves. `known`:
    only where the size in question is known to change from run to run.
    """
    source = context.site.source
    changes = _extended_on(context, path, known)
    for function in run_by_calls(context, path):
        if not any(map(_leaves_where_nothing_is, function.body)):
            inside = replace(context, site=site_of(source, function.body[0]), types=context.types_in(function))
            changes |= _extended_on(inside, function.body, known)
    return changes


def _leaves_where_nothing_is(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.If) and general_side(statement.test) is False


def _extended_on(context: Context, path: Sequence[ast.AST], known: bool) -> dict[ast.AST, Expr]:
    calls = (node for root in path for node in ast.walk(root) if isinstance(node, ast.Call))
    return dict(
        pair for node in calls if called(node) in knowledge().extremes for pair in _extended(context, node, known)
    )


def _extended(context: Context, node: ast.Call, known: bool) -> Iterator[tuple[ast.AST, Expr]]:
    """What a call reduces, with one element more; nothing where it surely reduces something, or integers."""
    call, kinds = applied(node), Kinds(context)
    if call is None or kinds.of(call.tensor) is not Kind.TENSOR or len(call.arguments) > 2:
        return
    given = call.argument(0, "dim")
    dimension, shape = integer(given), kinds.shape(call.tensor)
    is_float = kinds.dtype(call.tensor).startswith(("float", "bfloat"))
    if not is_float or (known and shape is None) or (given is not None and dimension is None) or shape == ():
        return
    if dimension is None:
        reduced = shape or ()
    else:
        reduced = shape[dimension : dimension + 1 or None] if shape is not None else ()
    if shape is not None and all(size.isdecimal() and size != "0" for size in reduced):
        return
    value = context.write.expr(knowledge().extremes[called(node)])
    built = _with_one_more(context, call.tensor, dimension, None if shape is None else len(shape), value)
    if built is not None:
        yield call.tensor, built


def _with_one_more(
    context: Context, tensor: ast.expr, dimension: int | None, rank: int | None, value: Expr
) -> Expr | None:
    """`tensor` with one element of `value` more along a dimension; along none, with one more of all that it holds."""
    write = context.write
    subject: Part = tensor
    if dimension is None:
        subject, dimension = (tensor if rank == 1 else write.expr("{}.flatten()", tensor)), -1
    elif dimension >= 0 and rank is not None:
        dimension -= rank
    if dimension < 0:
        widths = write.tuple([*[0] * (-2 * dimension - 1), 1])
        return write.expr("torch.nn.functional.pad({}, {}, value={})", subject, widths, value)
    if dimension > 0 or not is_plain(tensor):
        return None
    row = write.expr("{rows}.new_full((1, *{rows}.shape[1:]), {value})", rows=tensor, value=value)
    return write.expr("torch.cat([{}])", [tensor, row])
