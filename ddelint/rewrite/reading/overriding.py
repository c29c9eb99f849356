"""Methods that subclasses have of their own: what was run of a class says nothing of these."""

from __future__ import annotations

import ast
import os
from collections.abc import Collection, Iterator

from ddelint.rewrite.reading.names import qualified_name
from ddelint.rewrite.reading.neighbours import Importers, importers
from ddelint.rewrite.reading.reaching import heirs
from ddelint.sources.sites import Site
from ddelint.sources.source import SourceFile, descend

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def overridden(site: Site, run: Collection[str], importing: Importers = importers) -> str:
    """Which subclass, here or in a file that imports the class, has a method of its own that is called from the site's
    statement on, and that was not run (`run`: `FILE::QUALIFIED.NAME`); empty where none has."""
    function, source = site.function, site.source
    owner = source.parents.get(function) if function is not None else None
    if function is None or not isinstance(owner, ast.ClassDef):
        return ""
    called = set(_called_from(site, function))
    for file, name in ((source, owner.name), *importing(source.filename, owner.name)) if called else ():
        for heir, method in _methods_of_heirs(file, name):
            if method.name in called and f"{file.filename}::{qualified_name(file, method)}" not in run:
                where = f"line {method.lineno}" + ("" if file is source else f" of {os.path.basename(file.filename)}")
                return f"`{heir}` has a `{method.name}` of its own ({where}), which was not run"
    return ""


def _called_from(site: Site, function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[str]:
    """The methods of its own object that a function calls from the site's statement on (in a loop, before it, too), and
    those that these call."""
    around = [node for node in site.source.ancestors(site.statement) if isinstance(node, (ast.For, ast.While))]
    first = min([site.statement.lineno, *(loop.lineno for loop in around)])
    waiting = [name for name, row in _own_calls(function) if row >= first]
    methods = {node.name: node for node in descend(site.source.tree) if isinstance(node, _FUNCTIONS)}
    known: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name not in known:
            known.add(name)
            yield name
            waiting += [inner for inner, _ in _own_calls(methods[name])] if name in methods else []


def _own_calls(function: ast.AST) -> Iterator[tuple[str, int]]:
    """The methods that are asked of `self`, each with the line."""
    for node in descend(function):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="self"), attr=name), lineno=row):
                yield name, row


def _methods_of_heirs(source: SourceFile, base: str) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """The methods of the classes of a file that are made of a class, each with its class's name."""
    names = heirs(base, source)
    for node in descend(source.tree):
        if isinstance(node, ast.ClassDef) and node.name in names:
            yield from ((node.name, method) for method in node.body if isinstance(method, _FUNCTIONS))
