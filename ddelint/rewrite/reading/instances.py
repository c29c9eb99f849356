"""Which expressions may be an instance of a class: what makes one; names, attributes and lists that hold one."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Collection, Iterable, Iterator

from ddelint.knowledge.operators import dotted_name, terminal_name
from ddelint.rewrite.reading.kinds import is_torch
from ddelint.rewrite.reading.plainly import kept_under, values_of
from ddelint.sources.source import SourceFile, descend

_DEEPEST = 4
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def family(source: SourceFile, owner: str) -> frozenset[str]:
    """A class, by its name in a file, and those of the file that inherit from it."""
    found = {owner}
    classes = [node for node in descend(source.tree) if isinstance(node, ast.ClassDef)]
    while new := {c.name for c in classes if c.name not in found and any(terminal_name(b) in found for b in c.bases)}:
        found |= new
    return frozenset(found)


def is_instance(source: SourceFile, node: ast.AST, owners: Collection[str], depth: int = 0) -> bool | None:
    """Whether an expression is an instance of one of some classes, where its text says so: of what makes one, of a list
    that holds one; None where nothing in the file says what it is, as of a parameter."""
    if any(isinstance(part, ast.Call) and _makes(source, part.func, owners) for part in ast.walk(node)):
        return True
    if depth >= _DEEPEST:
        return None
    match node:
        case ast.Name(id="self" | "cls"):
            around = [parent for parent in source.ancestors(node) if isinstance(parent, ast.ClassDef)]
            return any(parent.name in owners for parent in around)
        case ast.Name(id=name):
            held = [*values_of(source, node, name)] or [*_of_the_file(source, name)]
            if not held:
                return None if _is_from_elsewhere(source, name) and not _is_module(source, node) else False
            return _any(is_instance(source, value, owners, depth + 1) for value in held)
        case ast.arg(annotation=annotation):
            words = {terminal_name(part) for part in ast.walk(annotation)} if annotation is not None else set()
            return True if not words.isdisjoint(owners) else None
        case ast.For(iter=held) | ast.comprehension(iter=held) | ast.Subscript(value=held) | ast.Starred(value=held):
            return is_instance(source, held, owners, depth + 1)
        case ast.List(elts=inside) | ast.Tuple(elts=inside) | ast.BoolOp(values=inside):
            return _any(is_instance(source, value, owners, depth + 1) for value in inside)
        case ast.IfExp(body=one, orelse=other):
            return _any(is_instance(source, value, owners, depth + 1) for value in (one, other))
        case ast.Attribute(value=ast.Name(id="self"), attr=name):
            held = [*kept_under(source, node, name)]
            return _any(is_instance(source, value, owners, depth + 1) for value in held) if held else None
        case ast.Attribute(value=value, attr=name):
            if _is_of_torch(source, value) or _is_module(source, value):
                return False
            return True if _is_kept_somewhere(source, name, owners) else None
        case ast.Call(func=ast.Attribute(value=held, attr=_) as made, args=given):
            is_of_torch = _is_of_torch(source, made)
            inside = given if is_of_torch else [held]
            found = _any(is_instance(source, value, owners, depth + 1) for value in inside)
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
    return any(
        any(isinstance(part, ast.Call) and _makes(source, part.func, owners) for part in ast.walk(node.value))
        for node in descend(source.tree)
        if isinstance(node, ast.Assign)
        and any(isinstance(target, ast.Attribute) and target.attr == attribute for target in node.targets)
    )


def _of_the_file(source: SourceFile, name: str) -> Iterator[ast.expr]:
    for statement in source.tree.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=found)], value=value) if found == name:
                yield value


def _is_from_elsewhere(source: SourceFile, name: str) -> bool:
    """Whether a name is neither a function or class of the file nor Python's own: an import, or nobody knows."""
    own = (node.name for node in descend(source.tree) if isinstance(node, (*_FUNCTIONS, ast.ClassDef)))
    return not hasattr(builtins, name) and name not in own


def _is_of_torch(source: SourceFile, node: ast.expr) -> bool:
    """Whether a chain starts at torch, or at a name that the file imports from it."""
    root = dotted_name(node).partition(".")[0]
    return is_torch(node) or any(
        (alias.asname or alias.name.partition(".")[0]) == root
        for statement in source.tree.body
        if isinstance(statement, (ast.Import, ast.ImportFrom))
        for alias in statement.names
        if (getattr(statement, "module", None) or alias.name).partition(".")[0] == "torch"
    )


def _is_module(source: SourceFile, node: ast.expr) -> bool:
    """Whether it is a module that the file imports (`import math`)."""
    return isinstance(node, ast.Name) and any(
        (alias.asname or alias.name.partition(".")[0]) == node.id
        for statement in source.tree.body
        if isinstance(statement, ast.Import)
        for alias in statement.names
    )
