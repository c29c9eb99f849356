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


def overridden(site: Site, run: Collection[str], importing: Importers = importers, *, calls_alone: bool = False) -> str:
    """Which subclass, here or in a file that imports the class, has a method or property of its own that is read from
    the site's statement on, and that was not run (`run`: `FILE::QUALIFIED.NAME`); empty where none has.

    `calls_alone`: a rewrite that computes both sides reads a property where the original did.
    """
    function, source = site.function, site.source
    owner = source.parents.get(function) if function is not None else None
    if function is None or not isinstance(owner, ast.ClassDef):
        return ""
    read = set(_read_from(site, function, calls_alone))
    for file, name in ((source, owner.name), *importing(source.filename, owner.name)) if read else ():
        for heir, method in _methods_of_heirs(file, name):
            if method.name in read and f"{file.filename}::{qualified_name(file, method)}" not in run:
                where = f"line {method.lineno}" + ("" if file is source else f" of {os.path.basename(file.filename)}")
                return f"`{heir}` has a `{method.name}` of its own ({where}), which was not run"
    return ""


def _read_from(site: Site, function: ast.FunctionDef | ast.AsyncFunctionDef, calls_alone: bool) -> Iterator[str]:
    """What a function reads of its own object from the site's statement on (in a loop, before it, too), and what
    methods and properties among that read."""
    around = [node for node in site.source.ancestors(site.statement) if isinstance(node, (ast.For, ast.While))]
    first = min([site.statement.lineno, *(loop.lineno for loop in around)])
    waiting = [name for name, row in _own_reads(function, calls_alone) if row >= first]
    methods = {node.name: node for node in descend(site.source.tree) if isinstance(node, _FUNCTIONS)}
    known: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name not in known:
            known.add(name)
            yield name
            waiting += [inner for inner, _ in _own_reads(methods[name], calls_alone)] if name in methods else []


def _own_reads(function: ast.AST, calls_alone: bool) -> Iterator[tuple[str, int]]:
    """What is read of `self`, methods that are called and properties among it, each with the line."""
    called = {node.func for node in descend(function) if isinstance(node, ast.Call)}
    for node in descend(function):
        if calls_alone and node not in called:
            continue
        match node:
            case ast.Attribute(value=ast.Name(id="self"), attr=name, ctx=ast.Load(), lineno=row):
                yield name, row


def _methods_of_heirs(source: SourceFile, base: str) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """The methods of the classes of a file that are made of a class, each with its class's name."""
    names = heirs(base, source)
    for node in descend(source.tree):
        if isinstance(node, ast.ClassDef) and node.name in names:
            yield from ((node.name, method) for method in node.body if isinstance(method, _FUNCTIONS))
