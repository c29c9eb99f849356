"""Lists that no iteration fills, put together all the same: no rows of the tensor whose rows they would hold."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TypeGuard

from ddelint.rewrite.candidate import Context
from ddelint.rewrite.parts.applied import is_plain
from ddelint.rewrite.reading.kinds import Kind, Kinds, definition, is_torch
from ddelint.rewrite.reading.knowledge import knowledge
from ddelint.rewrite.reading.names import bound_before, called
from ddelint.rewrite.writing.rewrites import Expr


def put_together_of_nothing(context: Context, path: Sequence[ast.AST]) -> dict[ast.AST, Expr]:
    """`torch.stack(rows)` → `torch.stack(rows) if rows else x[:0]`, for each list on a path that a loop fills with rows
    `x[i]`; for `torch.cat`, with pieces `x[a:b]`."""
    function = context.site.function
    if function is None:
        return {}
    changes: dict[ast.AST, Expr] = {}
    for call in (node for root in path for node in ast.walk(root) if isinstance(node, ast.Call)):
        match call:
            case ast.Call(args=[ast.Name(id=name)], keywords=[]) if _joins(call) and not _is_chosen(context, call):
                rows = _rows_of(context, function, name, in_pieces=called(call) in knowledge().concatenations)
                if rows is not None:
                    changes[call] = context.write.expr("{} if {} else {}[:0]", call, name, rows)
    return changes


def _joins(call: ast.Call) -> bool:
    puts_together = called(call) in knowledge().stackings | knowledge().concatenations
    return puts_together and isinstance(call.func, ast.Attribute) and is_torch(call.func.value)


def _is_chosen(context: Context, call: ast.Call) -> bool:
    """Whether a call is one of two values already."""
    return isinstance(context.site.source.parents.get(call), ast.IfExp)


def _rows_of(context: Context, function: ast.AST, name: str, *, in_pieces: bool) -> ast.expr | None:
    """The one tensor whose rows a loop appends to a list that starts with none; None where that is another list."""
    match definition(context, name):
        case ast.List(elts=[]):
            added = [node for node in ast.walk(function) if _appends_to(node, name)]
        case _:
            return None
    found = [_tensor_of(context, function, node, in_pieces) for node in added]
    tensors = {ast.unparse(tensor): tensor for tensor in found if tensor is not None}
    return next(iter(tensors.values())) if len(tensors) == 1 and None not in found else None


def _appends_to(node: ast.AST, name: str) -> TypeGuard[ast.Call]:
    """Whether a node is `name.append(…)`."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=owner), attr="append"), args=[_]):
            return owner == name
    return False


def _tensor_of(context: Context, function: ast.AST, appending: ast.Call, in_pieces: bool) -> ast.expr | None:
    """`x` of a row `x[i]` that a loop appends, or of a piece `x[a:b]`, where `x` is there without any iteration."""
    (element,) = appending.args
    if isinstance(element, ast.Name):
        element = definition(context, element.id) or element
    loops = [node for node in context.site.source.ancestors(appending) if isinstance(node, (ast.For, ast.While))]
    match element:
        case ast.Subscript(value=tensor, slice=index) if loops and is_plain(tensor):
            fits = isinstance(index, ast.Slice) if in_pieces else _is_place(context, index)
            known = ast.unparse(tensor).partition(".")[0] in bound_before(function, loops[-1])
            return tensor if fits and known and Kinds(context).of(tensor) is Kind.TENSOR else None
    return None


def _is_place(context: Context, index: ast.expr) -> bool:
    """Whether an index names one row."""
    kinds = Kinds(context)
    return kinds.of(index) is Kind.NUMBER or kinds.shape(index) == ()
