"""Calls of methods that Python makes by other signs than a name: an instance that is called, indexed, added to."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddelint.knowledge.operators import terminal_name
from ddelint.rewrite.reading.plainly import kept_under, values_of
from ddelint.sources.source import SourceFile, descend

_DEEPEST = 4
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


def calls_by_operator(source: SourceFile, owner: str, method: str) -> Iterator[tuple[ast.expr, ast.expr]]:
    """(Where it stands, what is given first) of each call of a class's method by a sign: `curve[3]` asks `__getitem__`
    of an instance, `curve(3)` its `forward` or `__call__`, `3 in curve` its `__contains__`, `curve @ 3` its
    `__matmul__`. An instance is what the class makes, under a name or an attribute of `self`, too."""
    for node in descend(source.tree) if method in _CALLED or method.startswith("__") else ():
        for asked, held, given in _asked(node):
            is_asked = asked == method or (asked == "__call__" and method in _CALLED)
            if is_asked and isinstance(node, ast.expr) and _is_instance(source, held, owner):
                yield node, given


def _asked(node: ast.AST) -> Iterator[tuple[str, ast.expr, ast.expr]]:
    """(The method, the instance, its first argument) that an expression asks for by a sign."""
    match node:
        case ast.Call(func=held, args=[given, *_]):
            yield "__call__", held, given
        case ast.Subscript(value=held, slice=given, ctx=ast.Load()):
            yield _INDEXED, held, given
        case ast.BinOp(left=left, op=operator, right=right):
            yield f"__{_SIGNS[type(operator)]}__", left, right
            yield f"__r{_SIGNS[type(operator)]}__", right, left
        case ast.Compare(left=left, ops=[ast.In() | ast.NotIn()], comparators=[right]):
            yield _CONTAINING, right, left
        case ast.Compare(left=left, ops=[operator], comparators=[right]) if type(operator) in _COMPARISONS:
            yield _COMPARISONS[type(operator)], left, right


def _is_instance(source: SourceFile, node: ast.AST, owner: str, depth: int = 0) -> bool:
    """Whether an expression may be an instance of the class: what makes one, or a name or attribute that holds one."""
    match node:
        case ast.Call(func=made):
            return terminal_name(made) == owner
        case ast.Name(id="self"):
            around = (parent for parent in source.ancestors(node) if isinstance(parent, ast.ClassDef))
            return any(parent.name == owner for parent in around)
        case ast.Name(id=name) if depth < _DEEPEST:
            held = [*values_of(source, node, name), *_of_the_file(source, name)]
            return any(_is_instance(source, value, owner, depth + 1) for value in held)
        case ast.Attribute(value=ast.Name(id="self"), attr=name) if depth < _DEEPEST:
            return any(_is_instance(source, value, owner, depth + 1) for value in kept_under(source, node, name))
        case ast.arg(annotation=ast.expr() as annotation):
            return terminal_name(annotation) == owner
    return False


def _of_the_file(source: SourceFile, name: str) -> Iterator[ast.expr]:
    for statement in source.tree.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=found)], value=value) if found == name:
                yield value
