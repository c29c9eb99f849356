"""What a piece of code may do besides giving a value, where nothing is run that would show it."""

from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Iterator
from functools import lru_cache

from ddelint.knowledge.operators import dotted_name, terminal_name
from ddelint.rewrite.reading.knowledge import knowledge
from ddelint.rewrite.reading.managers import library
from ddelint.rewrite.reading.names import (
    called,
    draws_random,
    is_called,
    is_method_of_values,
    is_pure,
    names_written,
    parameters,
    stores,
)
from ddelint.rewrite.reading.neighbours import comes_from
from ddelint.sources.sites import is_talk
from ddelint.sources.source import SourceFile, descend

SILENT = "the compiled program doesn't warn"
"""What is said of a rewrite in which only eager does."""


def says_without_effect(statement: ast.stmt, source: SourceFile) -> bool:
    """Whether what a warning or a log call says is read off values alone: it calls no function that may do more."""
    match statement:
        case ast.If(test=test, body=body, orelse=orelse):
            return only_reads(test, source) and all(says_without_effect(inner, source) for inner in (*body, *orelse))
        case ast.Expr(value=ast.Call(args=arguments, keywords=keywords)):
            return all(only_reads(given, source) for given in (*arguments, *(keyword.value for keyword in keywords)))
        case ast.Assign(value=value):
            return only_reads(value, source)
    return isinstance(statement, ast.Pass)


def raises_alone(statement: ast.stmt, source: SourceFile) -> bool:
    """Whether an `assert`, or what an `if` holds, raises and does nothing besides, such as to keep what it tells."""
    match statement:
        case ast.Assert(msg=said):
            return said is None or only_reads(said, source)
        case ast.If(body=body):
            return all(raises_alone(inner, source) for inner in body)
        case ast.Raise(exc=ast.Call(args=arguments, keywords=keywords)):
            return all(only_reads(given, source) for given in (*arguments, *(word.value for word in keywords)))
        case ast.Assign(value=value):
            return only_reads(value, source)
    return isinstance(statement, (ast.Raise, ast.Pass)) or (
        is_talk(statement) and says_without_effect(statement, source)
    )


@lru_cache(maxsize=16)
def is_heard(source: SourceFile) -> bool:
    """Whether the file does something about what is said: it records warnings, makes errors of them, says what a logger
    does, prints to something of its own, or counts in a function of its own what was said."""
    return any(_hears(node, source) for node in descend(source.tree)) or any(map(_keeps_what_is_said, _told(source)))


def _told(source: SourceFile) -> Iterator[SourceFile]:
    """The project's other files that something is said by: `from .meters import logger`."""
    said = (node.value for node in descend(source.tree) if isinstance(node, ast.Expr) and is_talk(node))
    called = [call.func for call in said if isinstance(call, ast.Call)]
    names = {dotted_name(f).partition(".")[0] for f in called if library(f, source) not in sys.stdlib_module_names}
    for name in names - {""}:
        if (file := comes_from(source, name)) is not None:
            yield file


def _keeps_what_is_said(source: SourceFile) -> bool:
    """Whether a file's own classes or functions do something with what is said."""
    own = (node for node in descend(source.tree) if isinstance(node, (ast.ClassDef, ast.FunctionDef)))
    return any(_hears(node, source) for node in own)


def _hears(node: ast.AST, source: SourceFile) -> bool:
    table = knowledge()
    match node:
        case ast.Call(func=ast.Name(id="print"), keywords=keywords):
            return any(word.arg == "file" and dotted_name(word.value) not in _STREAMS for word in keywords)
        case ast.Call(func=func, args=[ast.Constant(value="error"), *_]) if terminal_name(func) in _FILTERS:
            return True
        case ast.Call(func=func, keywords=keywords):
            return terminal_name(func) in table.hearing or any(word.arg == "record" for word in keywords)
        case ast.ClassDef(body=body, bases=bases):
            of_library = any(library(base, source) in _SAYING for base in bases)
            return of_library or any(getattr(inner, "name", "") in table.heard_methods for inner in body)
        case ast.Attribute(attr=name, ctx=ast.Store()):
            return name in table.hearing
        case ast.arg(arg=name):
            return name in table.heard_fixtures
        case ast.FunctionDef(name=name) if is_talk(ast.Expr(ast.Call(ast.Name(name), [], []))):
            return not _keeps_to_itself(node, source)
    return False


def _keeps_to_itself(function: ast.FunctionDef, source: SourceFile) -> bool:
    """Whether nothing outside of a function reads what it keeps outside of its own names."""
    own = names_written(*function.body) | parameters(function)
    outer = {node.id for node in descend(function) if isinstance(node, ast.Name)} - own
    outer |= {name for node in descend(function) if isinstance(node, ast.Global) for name in node.names}
    kept = outer & names_written(*(s for s in source.tree.body if isinstance(s, (ast.Assign, ast.AnnAssign))))
    inside = set(descend(function))
    return not any(
        isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in kept and node not in inside
        for node in descend(source.tree)
    )


_STREAMS = ("sys.stderr", "sys.stdout", "sys.__stderr__", "sys.__stdout__")
_SAYING = ("logging", "warnings")
"""Libraries whose classes do something with what is said."""
_FILTERS = ("simplefilter", "filterwarnings")
"""What makes errors of warnings."""


def silenced(branch: ast.If, source: SourceFile) -> ast.If:
    """The branch without what its arms only say, for a form in which eager keeps what it had."""

    def kept(body: list[ast.stmt]) -> list[ast.stmt]:
        left = [s for s in body if not (is_talk(s) and says_without_effect(s, source))]
        changed = [silenced(s, source) if isinstance(s, ast.If) else s for s in left]
        return changed or ([ast.Pass()] if body else [])

    return ast.copy_location(ast.If(branch.test, kept(branch.body), kept(branch.orelse)), branch)


def only_reads(node: ast.expr, source: SourceFile) -> bool:
    """Whether an expression is made of values, of what values have, and of functions that keep no state."""
    return (
        is_pure(node)
        and not draws_random(node)
        and not _tells_with_effect(source)
        and all(_is_known(inner, source) for inner in ast.walk(node) if isinstance(inner, ast.Call))
        and not any(
            inner.attr in _properties(source)
            for inner in ast.walk(node)
            if isinstance(inner, ast.Attribute) and not is_called(inner, source)
        )
    )


def _is_known(call: ast.Call, source: SourceFile) -> bool:
    """Whether a call is of Python's own functions, of a library without a state, of a method that values have, or of a
    function of the file that keeps no state."""
    if any(keyword.arg == "out" for keyword in call.keywords):
        return False
    name = terminal_name(call.func)
    functions = [node for node in descend(source.tree) if getattr(node, "name", "") == name]
    if functions:
        return all(isinstance(node, ast.FunctionDef) and keeps_no_state(node, source) for node in functions)
    match call.func:
        case ast.Name(id=name):
            return hasattr(builtins, name) or library(call.func, source) in knowledge().stateless
        case ast.Attribute(value=ast.Name(id="self" | "cls")):
            return False  # a method that it has from elsewhere, whatever it is called
        case ast.Attribute(attr=name):
            return (is_method_of_values(name) and not name.startswith("__")) or library(
                call.func, source
            ) in knowledge().stateless
    return False


@lru_cache(maxsize=16)
def _properties(source: SourceFile) -> frozenset[str]:
    """The properties of the file's classes that may do more than read."""
    return frozenset(
        node.name
        for node in descend(source.tree)
        if isinstance(node, ast.FunctionDef)
        and any("property" in terminal_name(decorator) for decorator in node.decorator_list)
        and not _writes_nothing(node)
    )


@lru_cache(maxsize=16)
def _tells_with_effect(source: SourceFile) -> bool:
    """Whether a class of the file does something where Python asks its objects for a text, a length, an order."""
    methods = (node for node in descend(source.tree) if isinstance(node, ast.FunctionDef))
    return any(node.name in _TELLING and not _writes_nothing(node) for node in methods)


_ORDERS = ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__contains__", "__len__")
_TEXTS = ("__format__", "__repr__", "__str__", "__bool__", "__int__", "__float__")
_PARTS = ("__getattr__", "__getattribute__", "__getitem__", "__iter__", "__next__")
_TELLING = frozenset((*_ORDERS, *_TEXTS, *_PARTS))


def _writes_nothing(function: ast.FunctionDef) -> bool:
    """Whether a function stores to no attribute and to no element, and has no known effect."""
    stored = any(
        isinstance(node, (ast.Attribute, ast.Subscript)) and not isinstance(node.ctx, ast.Load)
        for node in ast.walk(function)
    )
    outside = any(isinstance(node, (ast.Global, ast.Nonlocal)) for node in ast.walk(function))
    return not stored and not outside and all(map(is_pure, function.body))


def keeps_no_state(function: ast.FunctionDef | ast.AsyncFunctionDef, source: SourceFile, depth: int = 4) -> bool:
    """Whether a function gives the same for the same arguments each time, as far as its file shows.

    It draws no random numbers, has no known effect, stores to local names, and reads constants and such functions.
    """
    local, impure = names_written(*function.body), knowledge().impure
    bound = {node.id for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    for node in ast.walk(function):
        match node:
            case ast.Global() | ast.Nonlocal() | ast.Yield() | ast.YieldFrom():
                return False
            case ast.Attribute(ctx=ast.Store() | ast.Del()) | ast.Subscript(ctx=ast.Store() | ast.Del()):
                if ast.unparse(node.value) not in local:
                    return False
            case ast.Name(id="self" | "cls") if not _calls_what_stays(node, source, depth):
                return False  # what an object has may change meanwhile
            case ast.Call() if called(node) in knowledge().modes:
                return False
            case ast.Call(func=func) if called(node) in impure and ast.unparse(func).split(".")[0] not in local:
                return False
            case ast.Name(id=name) if name not in bound | parameters(function) and not _stays(name, source, depth):
                return False
    return not draws_random(function)


def _calls_what_stays(node: ast.Name, source: SourceFile, depth: int) -> bool:
    """Whether an object stands where a method of its class is called that keeps no state."""
    method = source.parents.get(node)
    if not (isinstance(method, ast.Attribute) and is_called(method, source)) or not depth:
        return False
    found = [n for n in descend(source.tree) if isinstance(n, ast.FunctionDef) and n.name == method.attr]
    return bool(found) and all(keeps_no_state(each, source, depth - 1) for each in found)


def _stays(name: str, source: SourceFile, depth: int) -> bool:
    """Whether a name is the same at all times: of Python, of a library without a state, a constant, such a function."""
    for node in descend(source.tree):
        match node:
            case ast.FunctionDef(name=found) | ast.ClassDef(name=found) if found == name:
                return depth > 0 and isinstance(node, ast.FunctionDef) and keeps_no_state(node, source, depth - 1)
            case ast.Import(names=names) | ast.ImportFrom(names=names) if name in names_written(*names):
                module = node.module or "" if isinstance(node, ast.ImportFrom) else names[0].name
                return module.split(".")[0] in knowledge().stateless
    assigned = [n for n in source.tree.body if isinstance(n, (ast.Assign, ast.AnnAssign)) and name in names_written(n)]
    return stores(source.tree, name) == len([n for n in assigned if isinstance(n.value, ast.Constant)]) < 2
