"""A value stored at, or read from, a place that numbers from data name: a view of that place asks nothing."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Any

from ddelint.knowledge.unions import is_none
from ddelint.rewrite.candidate import Context
from ddelint.rewrite.reading.around import around, is_tensor, number_kind
from ddelint.rewrite.reading.kinds import Kinds
from ddelint.rewrite.reading.names import is_pure, is_whole_slice
from ddelint.rewrite.writing.rewrites import Expr, Rewrite, rewriting

_AUGMENTED = {ast.Add: "add_", ast.Sub: "sub_", ast.Mult: "mul_", ast.Div: "div_"}


@rewriting("stored_in_view")
def stored_in_view(context: Context) -> Iterator[Rewrite]:
    """`x[:, n] = v` → `x.select(1, n).copy_(v)`; a number is filled in, `x[n] += v` is added there; `x[n, rows] = v` →
    `x.select(0, n)[rows] = v`."""
    kinds, write = Kinds(context), context.write
    match context.site.statement:
        case ast.Assign(targets=[ast.Subscript() as place], value=value):
            operator, method = None, "fill_" if number_kind(kinds, value) else "copy_"
        case ast.AugAssign(target=ast.Subscript() as place, op=operator, value=value):
            method = _AUGMENTED.get(type(operator), "")
        case _:
            return
    found = _view(context, kinds, place)
    if found is None:
        return
    view, rest = found
    if rest:
        lines = write.assigned(write.expr("{}[{}]", view, rest), value, operator)
    elif not method or (method == "copy_" and not is_tensor(kinds, value)):
        return
    else:
        lines = write.block([write.expr("{}.{method}({})", view, value, method=method)])
    message = "storing at a number from data asks for the number itself; a view of that place does not"
    yield Rewrite(message, {context.site.statement: lines})


@rewriting("read_in_view")
def read_in_view(context: Context) -> Iterator[Rewrite]:
    """`x[i, n]` → `x.select(0, i).select(0, n)`, `x[n, rows]` → `x.select(0, n)[rows]`: torch.compile takes no symbol
    among several indices, and torch.export none beside tensors (2.13)."""
    kinds = Kinds(context)
    changes: dict[ast.AST, Any] = {}
    for place in around(context):
        match place:
            case ast.Subscript(slice=ast.Tuple(), ctx=ast.Load()):
                if (found := _view(context, kinds, place)) is not None:
                    view, rest = found
                    changes[place] = context.write.expr("{}[{}]", view, rest) if rest else view
    inner = {place: view for place, view in changes.items() if not changes.keys() & {*list(ast.walk(place))[1:]}}
    if inner:
        yield Rewrite(
            "reading at several indices asks for the numbers themselves; a view of that place does not", inner
        )


def _view(context: Context, kinds: Kinds, place: ast.Subscript) -> tuple[Expr, list[ast.expr]] | None:
    """The place as `select`s, one a number, and what picks of that with tensors (torch takes its numbers first, too);
    None where it is anything else."""
    if not is_tensor(kinds, place.value) or not is_pure(place):
        return None
    write, view, numbers = context.write, context.write.expression(place.value), 0
    dim: int | None = 0
    rest: list[ast.expr] = []
    for part in place.slice.elts if isinstance(place.slice, ast.Tuple) else [place.slice]:
        if kinds.shape(part) == () and kinds.dtype(part).startswith("int"):
            number = write.expr("{}.item()", part)
        elif number_kind(kinds, part) == "int":
            number = write.expression(part)
        else:
            rest.append(part)
            taken = _dims_of(kinds, part)
            dim = None if dim is None or taken is None else dim + taken
            continue
        if dim is None:
            return None
        view, numbers = write.expr("{}.select({}, {})", view, str(dim), number), numbers + 1
    whole = all(map(is_whole_slice, rest))
    if not numbers or not (whole or _picks(kinds, rest)):
        return None
    return view, [] if whole else rest


def _picks(kinds: Kinds, parts: Sequence[ast.expr]) -> bool:
    """Whether parts of a subscript are slices, new dimensions and tensors, one of them a tensor (`i`, `[0, 2]`)."""
    tensors = [part for part in parts if not isinstance(part, ast.Slice) and not is_none(part)]
    return bool(tensors) and all(isinstance(part, ast.List) or is_tensor(kinds, part) for part in tensors)


def _dims_of(kinds: Kinds, part: ast.expr) -> int | None:
    """How many dimensions a part of a subscript stands for, which a mask has as many of as it has itself."""
    if is_none(part):
        return 0
    if isinstance(part, ast.Slice):
        return 1
    if isinstance(part, ast.List):
        return 1 if all(number_kind(kinds, element) == "int" for element in part.elts) else None
    dtype = kinds.dtype(part)
    if dtype.startswith("int"):
        return 1
    shape = kinds.shape(part) if dtype == "bool" else None
    return len(shape) if shape is not None else None
