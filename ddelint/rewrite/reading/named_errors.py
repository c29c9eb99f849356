"""Who may catch an exception without naming the function that raises it: by the name of a type of the project's own
(`RETRIED = (BadBatch,)`, `Passing("BadBatch")`), or around a model that is handed in."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from functools import lru_cache

from ddelint.rewrite.reading.neighbours import (
    Importers,
    classes_named,
    files_where,
    has_word,
    imported,
    imports_file,
    is_test,
)
from ddelint.sources.source import SourceFile, descend

_MOST_BASES = 4
_LISTED = "__all__"


def own_errors(statement: ast.stmt, source: SourceFile) -> frozenset[str]:
    """The names of the types that a statement raises, and of those that they are made of, as far as these are classes
    of the project."""
    raised = (node.exc for node in descend(statement) if isinstance(node, ast.Raise))
    called = (node.func if isinstance(node, ast.Call) else node for node in raised)
    return frozenset(name for node in called if node is not None for name in _with_bases(node, source, _MOST_BASES))


def _with_bases(node: ast.expr, source: SourceFile, depth: int) -> Iterator[str]:
    for file, defined in classes_named(source, node)[:1] if depth else ():
        yield defined.name
        for base in defined.bases:
            yield from _with_bases(base, file, depth - 1)


def is_named(errors: Collection[str], source: SourceFile) -> bool:
    """Whether a file of the project, tests left aside, says the name of one of these types for anything but to raise or
    to import it; the file itself, for anything but to catch it there as well (which calls are known to be in it)."""
    if not errors:
        return False
    words = tuple(sorted(errors))
    files = files_where(source.filename, lambda one, changed: not is_test(one) and has_word(one, changed, words))
    return any(_names(errors, file, is_own=file.filename == source.filename) for file in files)


def files_beside(source: SourceFile, names: Collection[str], importing: Importers) -> Iterator[SourceFile]:
    """The files of the project that are imported beside one of some names of this one, tests left aside: what is made
    here may be handed to them there."""
    known = {source.filename}
    for name in names:
        for file, _ in importing(source.filename, name):
            if not imports_file(file, source.filename):
                continue
            for other in _imported_by(file):
                if other.filename not in known and not is_test(other.filename):
                    known.add(other.filename)
                    yield other


@lru_cache(maxsize=64)
def _imported_by(file: SourceFile) -> tuple[SourceFile, ...]:
    """The files of the project from which one imports something, on its own level."""
    statements = (node for node in file.tree.body if isinstance(node, (ast.Import, ast.ImportFrom)))
    names = {alias.asname or alias.name for node in statements for alias in node.names}
    return tuple(found[0] for name in sorted(names) if (found := imported(file, name)) is not None)


def _names(errors: Collection[str], file: SourceFile, *, is_own: bool) -> bool:
    for node in descend(file.tree):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) if name in errors:
                if not _is_set_up(file, node, is_own):
                    return True
            case ast.Constant(value=str() as text) if text.rpartition(".")[2] in errors:
                if not _is_listed(file, node):
                    return True
    return False


def _is_set_up(file: SourceFile, node: ast.expr, is_own: bool) -> bool:
    """Whether a type is raised or made another one of where it is named; in its own file, caught."""
    child: ast.AST = node
    for around in file.ancestors(node):
        match around:
            case ast.Raise() | ast.ClassDef():
                return True
            case ast.ExceptHandler(type=kind) if kind is child:
                return is_own
            case ast.stmt():
                return False
        child = around
    return False


def _is_listed(file: SourceFile, node: ast.expr) -> bool:
    """Whether a text only says what a module hands on: `__all__ = ["BadBatch"]`."""
    around = next(one for one in file.ancestors(node) if isinstance(one, (ast.stmt, ast.Module)))
    return any(isinstance(part, ast.Name) and part.id == _LISTED for part in ast.walk(around))
