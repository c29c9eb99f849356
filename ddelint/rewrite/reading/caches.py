"""Functions that Python's own caches are around."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddelint.knowledge.operators import terminal_name
from ddelint.rewrite.reading.effects import keeps_no_state
from ddelint.rewrite.reading.managers import library
from ddelint.rewrite.reading.shared_values import is_as_good_as_new
from ddelint.sources.source import SourceFile, descend

_CACHES = frozenset(("lru_cache", "cache"))


def cached(source: SourceFile, name: str, *, method: bool) -> ast.FunctionDef | None:
    """A function (or method) of this file that is one of functools' caches, with no other decorator around that; None
    where another class overrides the method."""
    named = [
        node
        for node in descend(source.tree)
        if isinstance(node, ast.FunctionDef)
        and node.name == name
        and isinstance(source.parents.get(node), ast.ClassDef) is method
    ]
    match named:
        case [ast.FunctionDef(decorator_list=[outermost, *_]) as function] if _is_cache(outermost, source):
            return function
    return None


def may_be_passed_by(function: ast.FunctionDef, source: SourceFile) -> bool:
    """Whether a cached function may be computed anew: not one that draws random numbers, leaves something behind, or
    gives what is told apart from a new one."""
    return keeps_no_state(function, source) and is_as_good_as_new(function, source)


def is_asked_in_earnest(call: ast.Call, source: SourceFile) -> bool:
    """Whether a call is of a function that something caches and that may not be computed anew."""
    names = {terminal_name(call.func)}
    for node in descend(source.tree):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=cache, args=[function])):
                if name in names and _is_cache(cache, source):
                    return not any(may_be_passed_by(n, source) for n in _named(source, {terminal_name(function)}))
    cached_ones = (n for n in _named(source, names) if any(_is_cache(d, source) for d in n.decorator_list))
    return any(not may_be_passed_by(node, source) for node in cached_ones)


def _named(source: SourceFile, names: set[str]) -> Iterator[ast.FunctionDef]:
    return (n for n in descend(source.tree) if isinstance(n, ast.FunctionDef) and n.name in names)


def _is_cache(decorator: ast.expr, source: SourceFile) -> bool:
    target = decorator.func if isinstance(decorator, ast.Call) else decorator
    return terminal_name(target) in _CACHES and library(target, source) == "functools"
