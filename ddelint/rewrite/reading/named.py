"""What a file calls, defines and imports, by name: gone through once, however many expressions are asked about."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType

from ddelint.knowledge.operators import terminal_name
from ddelint.rewrite.reading.knowledge import knowledge
from ddelint.sources.source import SourceFile, descend

Function = ast.FunctionDef | ast.AsyncFunctionDef
Replacing = ast.Attribute | ast.Subscript | ast.Call
_MOST_FILES = 64
_ANY = ""
_NAMESPACES = frozenset(("globals", "vars"))


def calls_of(source: SourceFile, name: str) -> Sequence[ast.Call]:
    """The calls of what goes by a name in a file: `name(…)`, `x.name(…)`."""
    return _calls(source).get(name, ())


@lru_cache(maxsize=_MOST_FILES)
def _calls(source: SourceFile) -> Mapping[str, Sequence[ast.Call]]:
    found: dict[str, list[ast.Call]] = {}
    for node in descend(source.tree):
        if isinstance(node, ast.Call):
            found.setdefault(terminal_name(node.func), []).append(node)
    return MappingProxyType(found)


def functions_of(source: SourceFile, name: str) -> Sequence[Function]:
    """The functions and methods of a name in a file."""
    return [node for node in _defined(source).get(name, ()) if not isinstance(node, ast.ClassDef)]


def classes_of(source: SourceFile, name: str) -> Sequence[ast.ClassDef]:
    """The classes of a name in a file."""
    return [node for node in _defined(source).get(name, ()) if isinstance(node, ast.ClassDef)]


def defined_in(source: SourceFile) -> Iterator[Function | ast.ClassDef]:
    """All functions and classes of a file."""
    return (node for several in _defined(source).values() for node in several)


def is_defined(source: SourceFile, name: str) -> bool:
    """Whether a file has a function or a class of a name, anywhere."""
    return name in _defined(source)


@lru_cache(maxsize=_MOST_FILES)
def _defined(source: SourceFile) -> Mapping[str, Sequence[Function | ast.ClassDef]]:
    found: dict[str, list[Function | ast.ClassDef]] = {}
    for node in descend(source.tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found.setdefault(node.name, []).append(node)
    return MappingProxyType(found)


def put_under(source: SourceFile, attribute: str) -> Sequence[ast.expr]:
    """What a file puts under an attribute of this name, of whatever object; where it is taken out of something
    (`self.a, self.b = pair`), that."""
    return _attributes(source).get(attribute, ())


@lru_cache(maxsize=_MOST_FILES)
def _attributes(source: SourceFile) -> Mapping[str, Sequence[ast.expr]]:
    found: dict[str, list[ast.expr]] = {}
    for target, value in _stores(source):
        found.setdefault(target.attr, []).append(value)
    return MappingProxyType(found)


def _stores(source: SourceFile) -> Iterator[tuple[ast.Attribute, ast.expr]]:
    """The attributes that a file gives values, each with what it is given, or with what that is taken out of."""
    for node in descend(source.tree):
        match node:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    yield from _pairs(target, value)
            case (
                ast.AnnAssign(target=target, value=ast.expr() as value)
                | ast.AugAssign(target=target, value=value)
                | ast.For(target=target, iter=value)
                | ast.AsyncFor(target=target, iter=value)
                | ast.withitem(optional_vars=ast.expr() as target, context_expr=value)
            ):
                yield from _pairs(target, value)


def _pairs(target: ast.expr, value: ast.expr) -> Iterator[tuple[ast.Attribute, ast.expr]]:
    match target:
        case ast.Attribute():
            yield target, value
        case ast.Starred(value=inner):
            yield from _pairs(inner, value)
        case ast.Tuple(elts=targets) | ast.List(elts=targets):
            given = value.elts if isinstance(value, (ast.Tuple, ast.List)) else []
            if len(given) != len(targets) or any(isinstance(one, ast.Starred) for one in (*given, *targets)):
                given = [value] * len(targets)
            for one, part in zip(targets, given):
                yield from _pairs(one, part)


def replacements_of(source: SourceFile, name: str) -> Sequence[Replacing]:
    """Where a file puts something else in the place of what other objects have under a name: the targets of assignments
    (`Model.name = other`, `globals()["name"] = other`), and calls that are given the name as a text
    (`setattr(Model, "name", other)`, `model.add_module("name", other)`)."""
    return _replacements(source).get(name, ())


def replacements_of_any(source: SourceFile) -> Sequence[Replacing]:
    """The same under a name that is made at run time (`setattr(Model, name, other)`, `globals()[name] = other`): it may
    be any."""
    return _replacements(source).get(_ANY, ())


@lru_cache(maxsize=_MOST_FILES)
def _replacements(source: SourceFile) -> Mapping[str, Sequence[Replacing]]:
    found: dict[str, list[Replacing]] = {}
    for target, _ in _stores(source):
        found.setdefault(target.attr, []).append(target)
    for node in descend(source.tree):
        match node:
            case ast.Call(func=function, args=arguments) if terminal_name(function) in knowledge().replacing:
                texts = [text for argument in arguments for text in _texts(argument)]
                for text in (*texts, *(keyword.arg for keyword in node.keywords if keyword.arg)):
                    found.setdefault(text.rpartition(".")[2], []).append(node)
                match arguments:  # `type(name, bases, body)` makes a class of its own
                    case [_, named, _] if not isinstance(named, (ast.Constant, ast.Tuple)):
                        found.setdefault(_ANY, []).append(node)
            case ast.Call(func=ast.Attribute(attr=verb), args=[named, _]) if verb in knowledge().placing:
                for text in _texts(named):
                    found.setdefault(text, []).append(node)
            case ast.Subscript(value=holder, slice=key, ctx=ast.Store()) if is_namespace(holder):
                found.setdefault(next(_texts(key), _ANY), []).append(node)
            case ast.Call(func=ast.Attribute(value=holder, attr=verb), args=arguments) if (
                verb in knowledge().filling and is_namespace(holder)
            ):
                names = [text for argument in arguments for text in _texts(argument)]
                names += [keyword.arg for keyword in node.keywords if keyword.arg]
                for name in names or [_ANY]:
                    found.setdefault(name, []).append(node)
    return MappingProxyType(found)


def is_namespace(node: ast.expr) -> bool:
    """Whether it is the table of the names of a module, or of another object: `globals()`, `vars(losses)`, and that of
    the modules inside of one."""
    match node:
        case ast.Call(func=ast.Name(id=name)):
            return name in _NAMESPACES
        case ast.Attribute(attr="__dict__" | "_modules"):
            return True
    return False


def _texts(argument: ast.expr) -> Iterator[str]:
    """A text that is given, and those that are the keys of a dictionary."""
    for part in argument.keys if isinstance(argument, ast.Dict) else (argument,):
        match part:
            case ast.Constant(value=str() as text):
                yield text


@lru_cache(maxsize=_MOST_FILES)
def imported_packages(source: SourceFile) -> Mapping[str, str]:
    """Name → the package that a file's own level imports it from, or as (`import torch.nn as nn`: torch)."""
    return MappingProxyType(
        {
            alias.asname or alias.name.partition(".")[0]: (getattr(statement, "module", None) or alias.name).partition(
                "."
            )[0]
            for statement in source.tree.body
            if isinstance(statement, (ast.Import, ast.ImportFrom))
            for alias in statement.names
        }
    )


@lru_cache(maxsize=_MOST_FILES)
def imported_modules(source: SourceFile) -> Collection[str]:
    """The names under which a file's own level imports modules (`import math`)."""
    return frozenset(
        alias.asname or alias.name.partition(".")[0]
        for statement in source.tree.body
        if isinstance(statement, ast.Import)
        for alias in statement.names
    )
