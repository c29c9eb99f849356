"""A value stored at, or read from, a place that numbers from data name: a view of that place asks nothing."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from ddelint.rewrite.candidate import Context
from ddelint.rewrite.reading.around import around, is_tensor, number_kind
from ddelint.rewrite.reading.kinds import Kinds
from ddelint.rewrite.reading.names import is_pure
from ddelint.rewrite.writing.rewrites import Expr, Rewrite, rewriting

_AUGMENTED = {ast.Add: "add_", ast.Sub: "sub_", ast.Mult: "mul_", ast.Div: "div_"}


@rewriting("stored_in_view")
def stored_in_view(context: Context) -> Iterator[Rewrite]:
    """`x[:, n] = v` → `x.select(1, n).copy_(v)`; a number is filled in, `x[n] += v` is added there."""
    kinds, write = Kinds(context), context.write
    match context.site.statement:
        case ast.Assign(targets=[ast.Subscript() as place], value=value):
            method = "fill_" if number_kind(kinds, value) else "copy_"
        case ast.AugAssign(target=ast.Subscript() as place, op=operator, value=value) if type(operator) in _AUGMENTED:
            method = _AUGMENTED[type(operator)]
        case _:
            return
    view = _view(context, kinds, place)
    if view is None or (method == "copy_" and not is_tensor(kinds, value)):
        return
    line = write.expr("{}.{method}({})", view, value, method=method)
    message = "storing at a number from data asks for the number itself; a view of that place does not"
    yield Rewrite(message, {context.site.statement: write.block([line])})


@rewriting("read_in_view")
def read_in_view(context: Context) -> Iterator[Rewrite]:
    """`x[i, n]` → `x.select(0, i).select(0, n)`: torch.compile takes no symbol among several indices (2.13)."""
    kinds = Kinds(context)
    changes: dict[ast.AST, Any] = {}
    for place in around(context):
        match place:
            case ast.Subscript(slice=ast.Tuple(), ctx=ast.Load()):
                view = _view(context, kinds, place)
                if view is not None:
                    changes[place] = view
    inner = {place: view for place, view in changes.items() if not changes.keys() & {*list(ast.walk(place))[1:]}}
    if inner:
        yield Rewrite(
            "reading at several indices asks for the numbers themselves; a view of that place does not", inner
        )


def _view(context: Context, kinds: Kinds, place: ast.Subscript) -> Expr | None:
    """The place as `select`s, one a number; None where it is more than whole dimensions and numbers."""
    if not is_tensor(kinds, place.value) or not is_pure(place):
        return None
    write, view, dim, numbers = context.write, context.write.expression(place.value), 0, 0
    for part in place.slice.elts if isinstance(place.slice, ast.Tuple) else [place.slice]:
        match part:
            case ast.Slice(lower=None, upper=None, step=None):
                dim += 1
                continue
            case ast.Constant(value=bool()):
                return None
        if kinds.shape(part) == () and kinds.dtype(part).startswith("int"):
            number = write.expr("{}.item()", part)
        elif number_kind(kinds, part) == "int":
            number = write.expression(part)
        else:
            return None
        view, numbers = write.expr("{}.select({}, {})", view, str(dim), number), numbers + 1
    return view if numbers else None
