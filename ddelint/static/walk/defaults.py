"""What a setting is where nobody gives it: by defaults of arguments, and by what classes and the module bind."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ddelint.knowledge.operators import operators, terminal_name
from ddelint.sources.source import descend
from ddelint.static.domain.definitions import ClassInfo, FunctionNode
from ddelint.static.walk.walker import Walker

_DEEPEST = 4
"""Names that are bound to names."""
_COMPARING: Mapping[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
}
_OBJECTS = frozenset({"self", "cls"})


def by_default(walker: Walker, test: ast.expr) -> bool:
    """Whether a test holds by default, in any of the ways that its file binds what it is about."""
    functions = [frame.node for frame in reversed(walker.frames) if isinstance(frame.node, FunctionNode)]
    owner = walker.frames[-1].owner
    return any(bool(value) for value in _values(walker, test, functions, owner, 0))


def _values(
    walker: Walker, node: ast.expr, functions: list[FunctionNode], owner: ClassInfo | None, depth: int
) -> Iterator[object]:
    """What an expression may be by default; nothing where its file does not say."""
    if depth > _DEEPEST:
        return
    match node:
        case ast.Constant(value=constant):
            yield constant
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield from (not value for value in _values(walker, operand, functions, owner, depth))
        case ast.Call(func=ast.Name(id="bool"), args=[operand], keywords=[]):
            yield from (bool(value) for value in _values(walker, operand, functions, owner, depth))
        case ast.BoolOp(values=operands):
            for operand in operands:
                yield from _values(walker, operand, functions, owner, depth)
        case ast.Compare(left=left, ops=[kind], comparators=[right]) if type(kind) in _COMPARING:
            others = list(_values(walker, right, functions, owner, depth))
            for one in _values(walker, left, functions, owner, depth):
                yield from (_compared(kind, one, other) for other in others)
        case ast.Name(id="__debug__"):
            yield True
        case ast.Name(id=name):
            given = [value for function in functions if (value := _given(function.args, name)) is not None]
            bound = walker.index.constants.get(name)
            for expression in given or ([] if bound is None else [bound]):
                yield from _values(walker, expression, [], None, depth + 1)
        case ast.Attribute(value=ast.Name(id=holder), attr=name) if holder in _OBJECTS and owner is not None:
            for base in walker.index.bases(owner):
                yield from _of_class(walker, base, name, depth + 1)
        case ast.Attribute(attr=name):
            for cls in walker.index.all_classes:  # of a configuration, say
                if (assigned := cls.assigned.get(name)) is not None:
                    yield from _values(walker, assigned, [], None, depth + 1)


def _of_class(walker: Walker, cls: ClassInfo, name: str, depth: int) -> Iterator[object]:
    """What an attribute of a class's objects may be."""
    if (assigned := cls.assigned.get(name)) is not None:
        yield from _values(walker, assigned, [], None, depth)
    for constructor in operators().regions["constructors"] & cls.methods.keys():
        node = cls.methods[constructor]
        for part in descend(node):
            match part:
                case ast.Assign(targets=targets, value=value) if any(_is_own(target, name) for target in targets):
                    yield from _values(walker, value, [node], cls, depth)
                case ast.AnnAssign(target=target, value=ast.expr() as value) if _is_own(target, name):
                    yield from _values(walker, value, [node], cls, depth)
        if (default := _given(node.args, name)) is not None:  # which it may hand on to another constructor
            yield from _values(walker, default, [], None, depth)


def _is_own(target: ast.expr, name: str) -> bool:
    return isinstance(target, ast.Attribute) and target.attr == name and terminal_name(target.value) in _OBJECTS


def _given(arguments: ast.arguments, name: str) -> ast.expr | None:
    """The default of an argument."""
    names = [*arguments.posonlyargs, *arguments.args]
    defaults = [*zip(reversed(names), reversed(arguments.defaults)), *zip(arguments.kwonlyargs, arguments.kw_defaults)]
    return next((value for argument, value in defaults if argument.arg == name), None)


def _compared(kind: ast.cmpop, one: object, other: object) -> bool:
    try:
        return bool(_COMPARING[type(kind)](one, other))
    except TypeError:
        return False
