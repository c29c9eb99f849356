"""Who goes through the names of a module: a table of all its functions holds what a rewrite imports or defines, too."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import lru_cache

from ddelint.knowledge.operators import terminal_name
from ddelint.rewrite.candidate import Candidate
from ddelint.rewrite.reading.named import imported_packages
from ddelint.rewrite.reading.neighbours import Importers, importers, in_file, module_name, names_of_module
from ddelint.sources.source import SourceFile, descend

_ALL, _OF = (
    frozenset(("globals", "vars", "dir", "locals")),
    frozenset(("vars", "dir", "getmembers", "getmembers_static")),
)
_LOOKING_UP = frozenset(("get", "update", "setdefault", "pop", "__setitem__", "__getitem__"))
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_DEFINES = re.compile(r"^(?:def|class|@|async def|[^\W\d]\w*\s*[:=])", re.MULTILINE)


def gone_through(candidate: Candidate, source: SourceFile, importing: Importers = importers) -> str:
    """Where the names of a module are gone through to which a rewrite adds one; empty where none are, or it adds none.

    `for name, f in globals().items()`, `inspect.getmembers(losses)`, here or in a file that imports the module.
    """
    if not _adds_names(candidate, source):
        return ""
    module = module_name(source.filename)
    files = {file.filename: file for file, _ in importing(source.filename, module)}
    places = (
        (file, row)
        for file in files.values()
        for called in names_of_module(file, module)
        for row in _rows(file, called)
    )
    found = next(((source, row) for row in _rows(source, "")), None) or next(places, None)
    if found is None:
        return ""
    file, row = found
    return f"it adds a name to its module, whose names are gone through (line {row}{in_file(file, source)})"


def _adds_names(candidate: Candidate, source: SourceFile) -> bool:
    """Whether the module has a name behind the rewrite that it had not: by an import, or a definition."""
    new = {needed.name or needed.module.partition(".")[0] for needed in candidate.imports}
    defines = any(edit.span.column == 1 and _DEFINES.search(edit.content) for edit in candidate.edits)
    return defines or not new <= imported_packages(source).keys()


@lru_cache(maxsize=256)
def _rows(source: SourceFile, module: str) -> tuple[int, ...]:
    """Where a file goes through the names of a module that it calls so; of its own where that is empty."""
    return tuple(sorted(node.lineno for node in _names_of(source, module) if not _is_looked_up(source, node)))


def _names_of(source: SourceFile, module: str) -> Iterator[ast.expr]:
    """What stands for all names of a module."""
    for node in descend(source.tree):
        match node:
            case ast.Call(func=ast.Name(id=name), args=[]) if name in _ALL and not module:
                if name == "globals" or not any(isinstance(n, _SCOPES) for n in source.ancestors(node)):
                    yield node
            case ast.Call(func=called, args=[holder, *_]) if terminal_name(called) in _OF:
                if _is_module(holder, module):
                    yield node
            case ast.Attribute(value=holder, attr="__dict__") if _is_module(holder, module):
                yield node


def _is_module(node: ast.expr, module: str) -> bool:
    match node:
        case ast.Subscript(value=ast.Attribute(attr="modules"), slice=index):  # `sys.modules[__name__]`
            return not module and isinstance(index, ast.Name) and index.id == "__name__"
        case ast.Name() | ast.Attribute():
            return bool(module) and terminal_name(node) == module
    return False


def _is_looked_up(source: SourceFile, node: ast.expr) -> bool:
    """Whether one name is asked for, or given a value."""
    match source.parents.get(node):
        case ast.Subscript(value=value):
            return value is node
        case ast.Attribute(attr=attr):
            return attr in _LOOKING_UP
        case ast.Compare():
            return True
    return False
