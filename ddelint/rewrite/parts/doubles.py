"""A number that is read from a tensor, as a tensor in doubles: what computes with it is read at the end."""

from __future__ import annotations

import ast

from ddelint.rewrite.reading.around import is_tensor, number_kind, number_of
from ddelint.rewrite.reading.kinds import Kinds, definition
from ddelint.rewrite.reading.names import bindings, is_pure, names_read
from ddelint.rewrite.reading.regions import changed_in_place
from ddelint.rewrite.writing.rewrites import Expr

_SAME_IN_DOUBLES = (ast.Add, ast.Sub, ast.Mult, ast.Div)
"""Of an integer of at most 2**53, too."""
_DEEPEST = 6


def in_doubles(kinds: Kinds, number: ast.expr, depth: int = 0) -> Expr | None:
    """`t.max().double() + 1` for `t.max().item() + 1`, names followed; None where not just one number is read."""
    found = _read(kinds, number, depth)
    return kinds.context.write.replaced(number, {found[0]: found[1]}) if found is not None else None


def _read(kinds: Kinds, node: ast.expr, depth: int) -> tuple[ast.expr, Expr] | None:
    """Where the one number is read that `node` computes with, and what stands for it."""
    write, function = kinds.context.write, kinds.context.site.function
    match node:
        case ast.BinOp(left=left, op=operator, right=right) if isinstance(operator, _SAME_IN_DOUBLES):
            # a tensor that computes with others before it is read does so in its own dtype
            found = {side: None if is_tensor(kinds, side) else _read(kinds, side, depth) for side in (left, right)}
            if any(is_tensor(kinds, side) for side in found):
                return None
            read = [each for each in found.values() if each is not None]
            others = [side for side, each in found.items() if each is None]
            plain = all(number_kind(kinds, side) in ("int", "float") and is_pure(side) for side in others)
            return read[0] if len(read) == 1 and plain else None
        case (
            ast.Call(func=ast.Attribute(value=tensor, attr="item"), args=[], keywords=[])
            | ast.Call(func=ast.Name(id="float" | "int"), args=[tensor], keywords=[])
        ) if is_tensor(kinds, tensor):
            kind = number_of(kinds.dtype(tensor))
            truncates = isinstance(node.func, ast.Name) and node.func.id == "int" and kind == "float"
            return (node, write.expr("{}.double()", tensor)) if kind and not truncates else None
        case _ if is_tensor(kinds, node) and number_of(kinds.dtype(node)):
            return node, write.expr("{}.double()", node)
        case ast.Name(id=name) if depth < _DEEPEST:
            value = definition(kinds.context, name)
            if value is None or function is None or not is_pure(value):
                return None
            names = names_read(value)
            if any(bindings(function, each) > 1 for each in names) or names & changed_in_place(function.body):
                return None
            doubles = in_doubles(kinds, value, depth + 1)
            return (node, doubles) if doubles is not None else None
    return None
