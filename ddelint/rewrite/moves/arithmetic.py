"""Arithmetic on a number that was just read: done on the tensor instead, it leaves one plain symbol."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddelint.rewrite.candidate import Context
from ddelint.rewrite.reading.around import is_tensor, number_kind, origins
from ddelint.rewrite.reading.kinds import Kinds, definition
from ddelint.rewrite.reading.names import is_pure
from ddelint.rewrite.writing.rewrites import Rewrite, restructured, rewriting

_WIDE = ("int64", "int32", "integer", "")
"""Dtypes whose arithmetic does not overflow where Python's integers would not (in practice)."""
_EXACT = (ast.FloorDiv, ast.Mult, ast.Add, ast.Sub, ast.Mod)


@rewriting("arithmetic_before_item")
def arithmetic_before_item(context: Context) -> Iterator[Rewrite]:
    """`t.item() // 2` → `(t // 2).item()`, for a tensor of integers."""
    kinds, write = Kinds(context), context.write
    for node in origins(context):
        if not (isinstance(node, ast.BinOp) and isinstance(node.op, _EXACT) and is_pure(node)):
            continue
        if isinstance(context.site.source.parents.get(node), ast.BinOp):
            continue
        found = _read(kinds, node)
        if found is None:
            continue
        read, tensor = found
        dtype = kinds.dtype(tensor)
        if dtype not in _WIDE or (is_tensor(kinds, tensor) and kinds.shape(tensor) not in (None, ())):
            continue
        done = write.replaced(node, {read: write.expression(tensor)})
        message = "the arithmetic is done on the tensor, so that the size is one plain symbol"
        yield restructured(message, {node: write.expr("{}.item()", done)})


def _read(kinds: Kinds, node: ast.expr) -> tuple[ast.expr, ast.expr] | None:
    """The one read inside a chain of arithmetic with constants and sizes: the reading node and its tensor."""
    match node:
        case ast.BinOp(left=left, op=operator, right=right) if isinstance(operator, _EXACT):
            sides = [_read(kinds, left), _read(kinds, right)]
            found = [side for side in sides if side is not None]
            if len(found) != 1:
                return None
            other = right if sides[0] is not None else left
            return found[0] if number_kind(kinds, other) == "int" else None
        case ast.Call(func=ast.Attribute(value=tensor, attr="item"), args=[]):
            return node, tensor
        case ast.Call(func=ast.Name(id="int"), args=[ast.Call(func=ast.Attribute(value=tensor, attr="item"), args=[])]):
            return node, tensor
        case ast.Call(func=ast.Name(id="int"), args=[argument]) if is_tensor(kinds, argument):
            return node, argument
        case ast.Name(id=name):
            value = definition(kinds.context, name)
            if isinstance(value, ast.Call) and is_pure(value):
                inner = _read(kinds, value)
                return (node, inner[1]) if inner is not None else None
    return None
