"""What the text plainly says that an expression is: a number, a tensor."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from types import NoneType

from ddelint.rewrite.reading.kinds import is_torch
from ddelint.rewrite.reading.knowledge import knowledge
from ddelint.sources.source import SourceFile

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_DEEPEST = 6
_SIZES = ("size", "stride")
"""Methods that give a number for a dimension, and all of them without one."""


def is_number(source: SourceFile, node: ast.AST, depth: int = 0) -> bool:
    """Whether an expression is plainly a number, or None: a literal, a size, a count."""
    match node:
        case ast.Constant(value=value):
            return isinstance(value, (int, float, NoneType))
        case ast.Attribute(attr="ndim") | ast.Subscript(value=ast.Attribute(attr="shape")):
            return True
        case ast.Call(func=ast.Attribute(attr=name), args=arguments):
            return name in knowledge().numbers and (name not in _SIZES or bool(arguments))
        case ast.Call(func=ast.Name(id="len" | "int" | "float" | "round")):
            return True
        case ast.BinOp(left=left, right=right):
            return is_number(source, left, depth) and is_number(source, right, depth)
        case ast.UnaryOp(operand=value):
            return is_number(source, value, depth)
        case ast.Name(id=name) if depth < _DEEPEST:
            values = list(values_of(source, node, name))
            return bool(values) and all(is_number(source, value, depth + 1) for value in values)
        case ast.Attribute(value=ast.Name(id="self"), attr=name) if depth < _DEEPEST:
            values = list(kept_under(source, node, name))
            return bool(values) and all(is_number(source, value, depth + 1) for value in values)
        case ast.arg(annotation=ast.Name(id=name)):
            return name in {"int", "float", "bool"}
        case ast.arg(annotation=None):
            return _has_number_for_default(source, node)
    return False


def kept_under(source: SourceFile, node: ast.AST, name: str) -> Iterator[ast.AST]:
    """What the class around `node` puts under an attribute of `self`."""
    owner = next((parent for parent in source.ancestors(node) if isinstance(parent, ast.ClassDef)), None)
    for inner in ast.walk(owner) if owner is not None else ():
        match inner:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    yield from _from_pair(target, value, name)
            case ast.AnnAssign(target=ast.Attribute(attr=attr), value=ast.expr() as value) if attr == name:
                yield value


def _from_pair(target: ast.expr, value: ast.expr, name: str) -> Iterator[ast.AST]:
    match target, value:
        case ast.Attribute(value=ast.Name(id="self"), attr=attr), _ if attr == name:
            yield value
        case ast.Tuple(elts=targets), ast.Tuple(elts=values) if len(targets) == len(values):
            for one, other in zip(targets, values):
                yield from _from_pair(one, other, name)


def _has_number_for_default(source: SourceFile, argument: ast.arg) -> bool:
    arguments = source.parents.get(argument)
    if not isinstance(arguments, ast.arguments):
        return False
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults = dict(zip(reversed(positional), reversed(arguments.defaults)))
    default = {**defaults, **dict(zip(arguments.kwonlyargs, arguments.kw_defaults))}.get(argument)
    return isinstance(default, ast.Constant) and isinstance(default.value, (int, float))


def is_tensor(source: SourceFile, node: ast.AST, depth: int = 0) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(value=value)):
            return is_torch(value) or is_tensor(source, value, depth)
        case ast.BinOp(left=left, right=right):
            return is_tensor(source, left, depth) or is_tensor(source, right, depth)
        case ast.Subscript(value=value) | ast.UnaryOp(operand=value):
            return is_tensor(source, value, depth)
        case ast.Name(id=name) if depth < _DEEPEST:
            values = list(values_of(source, node, name))
            return bool(values) and all(is_tensor(source, value, depth + 1) for value in values)
        case ast.arg(annotation=ast.expr() as annotation):
            return "Tensor" in ast.unparse(annotation)
    return False


def values_of(source: SourceFile, node: ast.Name, name: str) -> Iterator[ast.AST]:
    """What is put under a name in the function around it: its assignments, and the parameter."""
    function = next((n for n in source.ancestors(node) if isinstance(n, _FUNCTIONS)), None)
    for inner in ast.walk(function or source.tree):
        match inner:
            case ast.Assign(targets=targets, value=value):
                if any(isinstance(target, ast.Name) and target.id == name for target in targets):
                    yield value
            case ast.AnnAssign(target=ast.Name(id=target), value=ast.expr() as value) if target == name:
                yield value
            case ast.arg(arg=argument) if argument == name:
                yield inner
            case ast.For(target=target) | ast.comprehension(target=target) if name in _names_in(target):
                yield inner


def _names_in(target: ast.expr) -> set[str]:
    return {node.id for node in ast.walk(target) if isinstance(node, ast.Name)}
