"""Two slices with sizes from data in one subscript lose a symbol on the way; one after the other they don't."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from functools import reduce
from typing import Any

from ddelint.knowledge.unions import is_none
from ddelint.rewrite.candidate import Context
from ddelint.rewrite.reading.around import around
from ddelint.rewrite.reading.names import is_whole_slice
from ddelint.rewrite.writing.rewrites import Expr, Rewrite, rewriting


@rewriting("one_slice_at_a_time")
def one_slice_at_a_time(context: Context) -> Iterator[Rewrite]:
    """`x[:, a:b, c:d]` → `x[:, a:b][:, :, c:d]`, for every such subscript of the statement."""
    write = context.write

    def cut(tensor: Expr, places: Sequence[ast.expr]) -> Expr:
        return write.expr("{}[{}]", tensor, places)

    changes: dict[ast.AST, Any] = {}
    for node in around(context):
        match node:
            case ast.Subscript(value=value, slice=ast.Tuple(elts=parts), ctx=ast.Load()):
                steps = _steps(parts)
                if len(steps) > 1:
                    changes[node] = reduce(cut, steps, write.expression(value))
    if changes:
        message = "Dynamo loses a symbol where one subscript cuts two dimensions; one after the other is the same"
        yield Rewrite(message, changes)


def _steps(parts: Sequence[ast.expr]) -> list[list[ast.expr]]:
    """The subscripts that come to the same one after the other; a single one where nothing is gained."""
    whole = ast.Slice()
    parts = [whole if is_whole_slice(part) else part for part in parts]
    cuts = [index for index, part in enumerate(parts) if isinstance(part, ast.Slice) and (part.lower or part.upper)]
    simple = (ast.Slice, ast.Constant, ast.UnaryOp)
    if len(cuts) < 2 or not all(isinstance(part, simple) for part in parts):
        return [list(parts)]
    steps = []
    for cut in cuts[:-1]:
        # numbers take a dimension away and None adds one: both wait for the last subscript
        kept = [
            part if index == cut or _is_ellipsis(part) else whole
            for index, part in enumerate(parts)
            if not is_none(part)
        ]
        while kept[-1] is whole and not any(map(_is_ellipsis, parts)):
            kept.pop()
        steps.append(kept)
    steps.append([whole if index in cuts[:-1] else part for index, part in enumerate(parts)])
    return steps


def _is_ellipsis(part: ast.expr) -> bool:
    return isinstance(part, ast.Constant) and part.value is ...
