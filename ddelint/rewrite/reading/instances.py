"""Which expressions may be an instance of a class: what makes one; names, attributes and lists that hold one."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Collection, Iterable
from functools import lru_cache

from ddelint.knowledge.operators import dotted_name, terminal_name
from ddelint.rewrite.reading.kinds import is_torch
from ddelint.rewrite.reading.named import imported_modules, imported_packages, is_defined, put_under
from ddelint.rewrite.reading.plainly import kept_under, on_its_own_level, values_of
from ddelint.sources.source import SourceFile

_DEEPEST = 4
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@lru_cache(maxsize=4096)
def is_instance(source: SourceFile, node: ast.AST, owners: frozenset[str]) -> bool | None:
    """Whether an expression is an instance of one of some classes, where its text says so: of what makes one, of a list
    that holds one; None where nothing in the file says what it is, as of a parameter."""
    return _is_instance(source, node, owners, 0)


def _is_instance(source: SourceFile, node: ast.AST, owners: Collection[str], depth: int) -> bool | None:
    if _holds_made(source, node, owners):
        return True
    if depth >= _DEEPEST:
        return None
    match node:
        case ast.Name(id="self" | "cls"):
            around = [parent for parent in source.ancestors(node) if isinstance(parent, ast.ClassDef)]
            return any(parent.name in owners for parent in around)
        case ast.Name(id=name):
            held = [*values_of(source, node, name)] or [*on_its_own_level(source.tree, name)]
            if not held:
                return None if _is_from_elsewhere(source, name) and not _is_module(source, node) else False
            return _any(_is_instance(source, value, owners, depth + 1) for value in held)
        case ast.arg(annotation=annotation):
            words = {terminal_name(part) for part in ast.walk(annotation)} if annotation is not None else set()
            return True if not words.isdisjoint(owners) else None
        case ast.For(iter=held) | ast.comprehension(iter=held) | ast.Subscript(value=held) | ast.Starred(value=held):
            return _is_instance(source, held, owners, depth + 1)
        case ast.List(elts=inside) | ast.Tuple(elts=inside) | ast.BoolOp(values=inside):
            return _any(_is_instance(source, value, owners, depth + 1) for value in inside)
        case ast.IfExp(body=one, orelse=other):
            return _any(_is_instance(source, value, owners, depth + 1) for value in (one, other))
        case ast.Attribute(value=ast.Name(id="self"), attr=name):
            held = [*kept_under(source, node, name)]
            return _any(_is_instance(source, value, owners, depth + 1) for value in held) if held else None
        case ast.Attribute(value=value, attr=name):
            if _is_of_torch(source, value) or _is_module(source, value):
                return False
            return True if _is_kept_somewhere(source, name, owners) else None
        case ast.Call(func=ast.Attribute(value=held) as made, args=given):
            is_of_torch = _is_of_torch(source, made)
            inside = given if is_of_torch else [held]
            found = _any(_is_instance(source, value, owners, depth + 1) for value in inside)
            return found or (False if is_of_torch else None)
        case ast.Call():
            return None
    return False


def _any(answers: Iterable[bool | None]) -> bool | None:
    known = list(answers)
    return True if True in known else (None if None in known else False)


def _makes(source: SourceFile, made: ast.expr, owners: Collection[str]) -> bool:
    """Whether it makes an instance: a class, or a function of the file that calls one."""
    if terminal_name(made) in owners:
        return True
    return isinstance(made, ast.Name) and any(
        isinstance(part, ast.Call) and terminal_name(part.func) in owners
        for function in source.tree.body
        if isinstance(function, _FUNCTIONS) and function.name == made.id
        for part in ast.walk(function)
    )


def _is_kept_somewhere(source: SourceFile, attribute: str, owners: Collection[str]) -> bool:
    """Whether some class of the file puts an instance under an attribute of this name."""
    return any(_holds_made(source, value, owners) for value in put_under(source, attribute))


def _holds_made(source: SourceFile, node: ast.AST, owners: Collection[str]) -> bool:
    """Whether an instance is made in an expression."""
    return any(isinstance(part, ast.Call) and _makes(source, part.func, owners) for part in ast.walk(node))


def _is_from_elsewhere(source: SourceFile, name: str) -> bool:
    """Whether a name is neither a function or class of the file nor Python's own: an import, or nobody knows."""
    return not hasattr(builtins, name) and not is_defined(source, name)


def _is_of_torch(source: SourceFile, node: ast.expr) -> bool:
    """Whether a chain starts at torch, or at a name that the file imports from it."""
    root = dotted_name(node).partition(".")[0]
    return is_torch(node) or imported_packages(source).get(root) == "torch"


def _is_module(source: SourceFile, node: ast.expr) -> bool:
    """Whether it is a module that the file imports (`import math`)."""
    return isinstance(node, ast.Name) and node.id in imported_modules(source)
