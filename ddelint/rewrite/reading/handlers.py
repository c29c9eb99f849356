"""Exceptions that the code around catches: there, a check that raises another type takes another way."""

from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Collection, Iterator

from ddelint.knowledge.operators import dotted_name, terminal_name
from ddelint.rewrite.reading.knowledge import knowledge
from ddelint.rewrite.reading.managers import caught, is_imported, library
from ddelint.rewrite.reading.named_errors import files_beside, is_named, own_errors
from ddelint.rewrite.reading.neighbours import Importers, comes_from, importers, imports_file
from ddelint.rewrite.reading.reaching import (
    calls_of_anything,
    is_called_by_other_names,
    is_given_away,
    is_protocol,
    names_of,
    runners,
    runs_later,
)
from ddelint.sources.sites import Site
from ddelint.sources.source import SourceFile, descend

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
"""What is written inside of these runs elsewhere; a lambda mostly where it stands (`sorted(rows, key=lambda …)`)."""


def may_be_caught(site: Site, errors: tuple[type[BaseException], ...] = (), importing: Importers = importers) -> bool:
    """Whether something in the project may catch what the site's statement raises, or what a fix raises in its place.

    Looked at: what Python itself catches for its protocols; what is around the statement in its function, and around
    each mention of the function in its file and (of a check) in those that import it; where it may be called by another
    name (a module is, by its instance), around whatever may be it; and all that catches, where it runs when somebody
    goes on, or no name need stand (`a + b` runs `__add__`, `next(rows)` a generator).

    `errors`: what an expression and the one in its place raise (`int(t)`: ValueError, or TypeError, for what is no
    single number); without them it is a `raise` or an `assert`, for which a check raises RuntimeError. `importing`: the
    files that are looked at.
    """
    raised = errors or (_raised(site.statement, site.source), RuntimeError)
    if _is_guarded(site.source, site.statement, raised) or (not errors and _is_signal(raised[0], site.function)):
        return True
    if site.function is None:
        return False
    names = names_of(site.function, site.source)
    if runs_later(names, site.function, site.source) or any(map(is_protocol, names)):
        return any(_may_catch(kind, one) for kind in _all_caught(site.source) for one in raised)
    is_handed_on = is_called_by_other_names(names, site.function, site.source)
    if is_handed_on and not errors and is_given_away(names, site.source):
        return True
    if not errors and _is_caught_elsewhere(names, site, raised, importing, is_handed_on=is_handed_on):
        return True
    if not errors and is_named(own_errors(site.statement, site.source), site.source):
        return True
    if not errors and is_handed_on and _is_caught_beside(names, site, raised[0], importing):
        return True
    if any(_catches(decorator, site.source, raised) for decorator in _decorators(names, site.source)):
        return True
    return _is_caught_at(names, site.source, raised, is_handed_on=is_handed_on)


def _is_caught_at(
    names: Collection[str], source: SourceFile, raised: tuple[type[BaseException] | None, ...], *, is_handed_on: bool
) -> bool:
    """Whether a file catches something around a mention of one of the names, or around what may call any of them."""
    unseen = calls_of_anything(source) if is_handed_on else frozenset()
    may_run = runners(source) if is_handed_on else frozenset()
    return any(
        isinstance(node, (ast.Name, ast.Attribute, ast.Call))
        and (node in unseen or terminal_name(node) in names or _is_one_of(node, may_run, source))
        and _is_guarded(source, node, raised)
        for node in descend(source.tree)
    )


def _is_one_of(node: ast.expr, names: Collection[str], source: SourceFile) -> bool:
    return terminal_name(node) in names and not is_imported(node, source)


def _is_caught_elsewhere(
    names: Collection[str],
    site: Site,
    raised: tuple[type[BaseException] | None, ...],
    importing: Importers,
    *,
    is_handed_on: bool,
) -> bool:
    """Whether another file of the project that imports one of the names catches something around it."""
    return any(
        _is_caught_at({called}, file, raised, is_handed_on=is_handed_on)
        for name in _at_the_top(names, site)
        for file, called in importing(site.source.filename, name)
        if imports_file(file, site.source.filename)
    )


def _at_the_top(names: Collection[str], site: Site) -> list[str]:
    """What others may import of the file to come to the site: some names, and the classes around it."""
    top = {node.name for node in site.source.tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    owners = {node.name for node in site.source.ancestors(site.statement) if isinstance(node, ast.ClassDef)}
    return sorted((set(names) | owners) & top)


def _is_caught_beside(
    names: Collection[str], site: Site, raised: type[BaseException] | None, importing: Importers
) -> bool:
    """Whether a file that is imported beside this one catches what is raised, and not the RuntimeError in its place,
    around what it doesn't know (`try: loss = self.model(batch)`)."""
    if raised is None or issubclass(RuntimeError, raised):
        return False
    kinds = [kind for kind in raised.__mro__ if not issubclass(RuntimeError, kind)]
    return any(
        _is_guarded_from(file, call, kinds)
        for file in files_beside(site.source, _at_the_top(names, site), importing)
        for call in calls_of_anything(file)
    )


def _is_guarded_from(source: SourceFile, node: ast.AST, kinds: Collection[type[BaseException]]) -> bool:
    """Whether one of some types of Python's own is caught by its name around a call."""
    return any(kind is not None and _type_named(kind) in kinds for kind in _caught_around(source, node))


def _decorators(names: Collection[str], source: SourceFile) -> Iterator[ast.expr]:
    for node in descend(source.tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name in names:
            yield from (each.func if isinstance(each, ast.Call) else each for each in node.decorator_list)


def _catches(decorator: ast.expr, source: SourceFile, raised: tuple[type[BaseException] | None, ...]) -> bool:
    """Whether a decorator is known to catch, or something in the project's file that it comes from may do so."""
    if terminal_name(decorator) in knowledge().catching_decorators:
        return True
    if library(decorator, source) in sys.stdlib_module_names:
        return False
    file = comes_from(source, dotted_name(decorator).partition(".")[0])
    return file is not None and any(_may_catch(kind, one) for kind in _all_caught(file) for one in raised)


def _raised(statement: ast.stmt, source: SourceFile) -> type[BaseException] | None:
    """The type that a statement raises, where it is one of Python's own, or the one that its class is made of."""
    if isinstance(statement, ast.Assert):
        return AssertionError
    types = {_type_named(n.exc) or _base_of(n.exc, source) for n in descend(statement) if isinstance(n, ast.Raise)}
    return types.pop() if len(types) == 1 else None


def _type_named(node: ast.expr | None) -> type[BaseException] | None:
    called = node.func if isinstance(node, ast.Call) else node
    found = getattr(builtins, called.id, None) if isinstance(called, ast.Name) else None
    return found if isinstance(found, type) and issubclass(found, BaseException) else None


def _base_of(node: ast.expr | None, source: SourceFile) -> type[BaseException] | None:
    name = terminal_name(node.func if isinstance(node, ast.Call) else node) if node is not None else ""
    for found in descend(source.tree):
        match found:
            case ast.ClassDef(name=defined, bases=[base]) if defined == name:
                return _type_named(base)
    return None


def _is_signal(raised: type[BaseException] | None, function: _Function | None) -> bool:
    """Whether an exception is Python's own sign that there is no more, no such attribute, no such item."""
    name = raised.__name__ if raised is not None else ""
    in_protocol = function is not None and is_protocol(function.name) and name in knowledge().protocol_signals
    return name in knowledge().signals or in_protocol


def _all_caught(source: SourceFile) -> Iterator[ast.expr | None]:
    """The types that anything in the file catches; None: everything."""
    for node in descend(source.tree):
        if isinstance(node, (ast.Try, ast.TryStar, ast.With, ast.AsyncWith)):
            yield from caught(node, node.body[0], source)


def _is_guarded(source: SourceFile, node: ast.AST, raised: tuple[type[BaseException] | None, ...]) -> bool:
    return any(_may_catch(kind, one) for kind in _caught_around(source, node) for one in raised)


def _caught_around(source: SourceFile, node: ast.AST) -> Iterator[ast.expr | None]:
    """What is caught around a place, in its function."""
    child = node
    for parent in source.ancestors(node):
        if isinstance(parent, _SCOPES):
            return
        yield from caught(parent, child, source)
        child = parent


def _may_catch(named: ast.expr | None, raised: type[BaseException] | None) -> bool:
    kind = _type_named(named) if isinstance(named, ast.Name) else None
    return kind is None or raised is None or issubclass(raised, kind)
