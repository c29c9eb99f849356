"""Reductions that raise where there is nothing, each over one element more that is never the one that is looked for.

What stands behind an emptiness test then runs of nothing, too, and gives for something what it gave before.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from ddelint.rewrite.candidate import Context
from ddelint.rewrite.parts.applied import applied, integer, is_plain
from ddelint.rewrite.reading.kinds import Kind, Kinds
from ddelint.rewrite.reading.names import called
from ddelint.rewrite.writing.rewrites import Expr, Part

LEAST, MOST = "-torch.inf", "torch.inf"
EXTREMES = {"max": LEAST, "amax": LEAST, "argmax": LEAST, "min": MOST, "amin": MOST, "argmin": MOST}
"""Reductions that raise where there is nothing, and the number that they never choose."""


def of_nothing_too(context: Context, path: Sequence[ast.AST]) -> dict[ast.AST, Expr]:
    """The operands of the reductions on a path that may be of nothing, each with what takes its place."""
    changes: dict[ast.AST, Expr] = {}
    for root in path:
        for node in ast.walk(root):
            if isinstance(node, ast.Call) and called(node) in EXTREMES:
                changes |= dict(_extended(context, node))
    return changes


def _extended(context: Context, node: ast.Call) -> Iterator[tuple[ast.AST, Expr]]:
    """What a call reduces, with one element more; nothing where it surely reduces something, or integers."""
    call, kinds = applied(node), Kinds(context)
    if call is None or kinds.of(call.tensor) is not Kind.TENSOR or len(call.arguments) > 2:
        return
    given = call.argument(0, "dim")
    dimension, shape = integer(given), kinds.shape(call.tensor)
    is_float = kinds.dtype(call.tensor).startswith(("float", "bfloat"))
    if not is_float or (given is not None and dimension is None) or shape == ():
        return
    if dimension is None:
        reduced = shape or ()
    else:
        reduced = shape[dimension : dimension + 1 or None] if shape is not None else ()
    if shape is not None and all(size.isdecimal() and size != "0" for size in reduced):
        return
    value = context.write.expr(EXTREMES[called(node)])
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
