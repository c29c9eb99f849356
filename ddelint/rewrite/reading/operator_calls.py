"""Calls of methods that Python makes by other signs than a name: an instance that is called, indexed, added to."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from functools import lru_cache

from ddelint.knowledge.operators import terminal_name
from ddelint.sources.source import SourceFile, descend

_CALLED = frozenset(("__call__", "forward"))
_INDEXED, _CONTAINING = "__getitem__", "__contains__"
_SIGNS: dict[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.MatMult: "matmul",
    ast.Div: "truediv",
    ast.FloorDiv: "floordiv",
    ast.Mod: "mod",
    ast.Pow: "pow",
    ast.LShift: "lshift",
    ast.RShift: "rshift",
    ast.BitAnd: "and",
    ast.BitXor: "xor",
    ast.BitOr: "or",
}
_COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Lt: "__lt__",
    ast.LtE: "__le__",
    ast.Gt: "__gt__",
    ast.GtE: "__ge__",
    ast.Eq: "__eq__",
    ast.NotEq: "__ne__",
}


@lru_cache(maxsize=64)
def calls_by_operator(source: SourceFile, method: str) -> Sequence[tuple[ast.expr, ast.Attribute, ast.Call]]:
    """(Where it stands, the method of what, the call that it is) of each call of a method by a sign.

    `curve[3]` asks `__getitem__` of what stands before it, `curve(3)` its `forward` or `__call__`, `3 in curve` its
    `__contains__`, `curve @ 3` its `__matmul__`; `map(curve, rows)` calls it with the rows.
    """
    found: list[tuple[ast.expr, ast.Attribute, ast.Call]] = []
    for node in descend(source.tree) if method in _CALLED or method.startswith("__") else ():
        for asked, held, given, keywords in _asked(node):
            is_asked = asked == method or (asked == "__call__" and method in _CALLED)
            if is_asked and isinstance(node, ast.expr):
                function = ast.Attribute(held, method)
                found.append((node, function, ast.Call(function, given, keywords)))
    return found


def _asked(node: ast.AST) -> Iterator[tuple[str, ast.expr, list[ast.expr], list[ast.keyword]]]:
    """(The method, the instance, its arguments) that an expression asks for by a sign."""
    match node:
        case ast.Call(func=ast.Name(id="map"), args=[held, *lists]):
            yield "__call__", held, [ast.Subscript(each, ast.Constant(0)) for each in lists], []
        case ast.Call(func=partial, args=[held, *given], keywords=keywords) if terminal_name(partial) == "partial":
            yield "__call__", held, given, keywords
        case ast.Call(func=ast.Attribute(value=held, attr="__call__"), args=given, keywords=keywords):
            yield "__call__", held, given, keywords
        case ast.Call(func=held, args=given, keywords=keywords):
            yield "__call__", held, given, keywords
        case ast.Subscript(value=held, slice=given, ctx=ast.Load()):
            yield _INDEXED, held, [given], []
        case ast.BinOp(left=left, op=operator, right=right):
            yield f"__{_SIGNS[type(operator)]}__", left, [right], []
            yield f"__r{_SIGNS[type(operator)]}__", right, [left], []
        case ast.Compare(left=left, ops=[ast.In() | ast.NotIn()], comparators=[right]):
            yield _CONTAINING, right, [left], []
        case ast.Compare(left=left, ops=[operator], comparators=[right]) if type(operator) in _COMPARISONS:
            yield _COMPARISONS[type(operator)], left, [right], []
