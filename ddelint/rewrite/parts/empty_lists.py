"""Lists that no iteration fills, put together all the same: no rows of the tensor whose rows they would hold."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from ddelint.rewrite.candidate import Context
from ddelint.rewrite.parts.applied import is_plain
from ddelint.rewrite.reading.kinds import Kind, Kinds, is_torch
from ddelint.rewrite.reading.knowledge import knowledge
from ddelint.rewrite.reading.names import bindings, called, names_written
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
    starts = [value for given, value in _given(function) if given == name]
    if len(starts) != 1 or not isinstance(starts[0], ast.List) or starts[0].elts or bindings(function, name) != 1:
        return None
    added = [_appended_to(node, name) for node in ast.walk(function)]
    found = [_tensor_of(context, function, element, in_pieces) for element in added if element is not None]
    loops = [node for node in ast.walk(function) if isinstance(node, (ast.For, ast.While))]
    in_loops = {node for loop in loops for node in ast.walk(loop)}
    outside = [node for node in ast.walk(function) if _appended_to(node, name) is not None and node not in in_loops]
    tensors = [tensor for tensor in found if tensor is not None]
    if not tensors or len(tensors) < len(found) or outside or len({ast.unparse(tensor) for tensor in tensors}) > 1:
        return None
    return tensors[0]


def _appended_to(node: ast.AST, name: str) -> ast.expr | None:
    """What `name.append(…)` appends."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=owner), attr="append"), args=[element]) if owner == name:
            return element
    return None


def _tensor_of(context: Context, function: ast.AST, element: ast.expr, in_pieces: bool) -> ast.expr | None:
    """`x` of a row `x[i]`, or of a piece `x[a:b]`, where `x` is there without any iteration."""
    if isinstance(element, ast.Name):
        values = [value for given, value in _given(function) if given == element.id]
        if len(values) != 1 or bindings(function, element.id) != 1:
            return None
        element = values[0]
    match element:
        case ast.Subscript(value=tensor, slice=index) if is_plain(tensor) and _is_before_loops(function, tensor):
            fits = isinstance(index, ast.Slice) if in_pieces else _is_place(context, index)
            return tensor if fits and Kinds(context).of(tensor) is Kind.TENSOR else None
    return None


def _is_place(context: Context, index: ast.expr) -> bool:
    """Whether an index names one row."""
    kinds = Kinds(context)
    return kinds.of(index) is Kind.NUMBER or kinds.shape(index) == ()


def _is_before_loops(function: ast.AST, tensor: ast.expr) -> bool:
    """Whether a name or attribute has its value from outside of the loops of a function, or as an argument."""
    root = tensor
    while isinstance(root, ast.Attribute):
        root = root.value
    if not isinstance(root, ast.Name) or not isinstance(function, ast.FunctionDef):
        return False
    loops = [node for node in ast.walk(function) if isinstance(node, (ast.For, ast.While))]
    arguments = {one.arg for one in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)}
    return root.id in arguments or root.id in names_written(*function.body) - names_written(*loops)


def _given(function: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """The names that plain assignments in a function give a value."""
    for node in ast.walk(function):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                yield name, value
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                yield name, value
