"""Exceptions that the code around catches: there, a check that raises another type takes another way."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from functools import lru_cache

from ddelint.knowledge.operators import dotted_name, terminal_name
from ddelint.rewrite.reading.knowledge import knowledge
from ddelint.rewrite.reading.managers import caught, library
from ddelint.sources.sites import Site
from ddelint.sources.source import SourceFile, descend

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
"""What is written inside of these runs elsewhere; a lambda mostly where it stands (`sorted(rows, key=lambda …)`)."""


def may_be_caught(site: Site, *, cast: bool = False) -> bool:
    """Whether something in the file may catch what the site's statement raises, or a RuntimeError in its place.

    Looked at: what Python itself catches for its protocols; what is around the statement in its function, and around
    each mention of the function in the file; where it may be called by another name (a module is, by its instance),
    around whatever may be it; and all that catches, where no name need stand (`a + b` runs `__add__`, `next(rows)` a
    generator).
    `cast`: what raises is `int(t)` or `float(t)`: ValueError, or TypeError, for what is no single number.
    """
    raised = (ValueError, TypeError, RuntimeError) if cast else (_raised(site.statement, site.source), RuntimeError)
    if _is_guarded(site.source, site.statement, raised) or (not cast and _is_signal(raised[0], site.function)):
        return True
    if site.function is None:
        return False
    names = _names_of(site.function, site.source)
    if _is_waited_for(site.function) or any(map(_is_protocol, names)):
        return any(_may_catch(kind, one) for kind in _all_caught(site.source) for one in raised)
    is_handed_on = _is_called_by_other_names(names, site.source)
    if is_handed_on and not cast and _is_given_away(names, site.source):
        return True
    unseen = _calls_of_anything(site.source) if is_handed_on else frozenset()
    return any(
        isinstance(node, (ast.Name, ast.Attribute, ast.Call))
        and (node in unseen or terminal_name(node) in names)
        and _is_guarded(site.source, node, raised)
        for node in descend(site.source.tree)
    )


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
    in_protocol = function is not None and _is_protocol(function.name) and name in knowledge().protocol_signals
    return name in knowledge().signals or in_protocol


def _is_protocol(name: str) -> bool:
    """Whether Python calls a function of this name for an operator or a statement."""
    return name.startswith("__") and name.endswith("__") and name not in _CALLED_BY_NAME


def _is_waited_for(function: _Function) -> bool:
    """Whether a function's body runs elsewhere than where it is called: a generator's, a coroutine's."""
    yields = (isinstance(node, (ast.Yield, ast.YieldFrom)) for node in descend(function))
    return isinstance(function, ast.AsyncFunctionDef) or any(yields)


def _all_caught(source: SourceFile) -> Iterator[ast.expr | None]:
    """The types that anything in the file catches; None: everything."""
    for node in descend(source.tree):
        if isinstance(node, (ast.Try, ast.TryStar, ast.With, ast.AsyncWith)):
            yield from caught(node, node.body[0], source)


def _is_given_away(names: set[str], source: SourceFile) -> bool:
    """Whether a function is an argument of what the file doesn't define, and that may catch what it raises, or keep it
    (`pool.submit(f, x).exception()`)."""
    defined = {node.name for node in descend(source.tree) if isinstance(node, (_Function, ast.ClassDef))}
    harmless = knowledge().stateless | vars(builtins).keys() | {_OURS}
    for node in descend(source.tree):
        if isinstance(node, (ast.Name, ast.Attribute)) and terminal_name(node) in names:
            parent = source.parents.get(node)
            match source.parents.get(parent) if isinstance(parent, ast.keyword) else parent:
                case ast.Call(func=taker) if taker is not node and terminal_name(taker) not in defined:
                    if library(taker, source) not in harmless:
                        return True
    return False


def _names_of(function: _Function, source: SourceFile) -> set[str]:
    """The function's name, those under which it is kept (`fast = compile(slow)`), those of functions that use it."""
    names, found = set[str](), {function.name}
    while names != found:
        names = set(found)
        for node in descend(source.tree):
            if isinstance(node, (ast.Name, ast.Attribute)) and terminal_name(node) in names:
                found |= _names_beside(node, source)
    return names


def _names_beside(node: ast.Name | ast.Attribute, source: SourceFile) -> set[str]:
    """The function around a mention of a function; and, where it is not called there, what it is assigned to."""
    is_called = getattr(source.parents.get(node), "func", None) is node
    for around in source.ancestors(node):
        match around:
            case ast.Lambda():
                is_called = False
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                return {name}
            case ast.Assign(targets=targets) if not is_called:
                return {target.id for target in targets if isinstance(target, ast.Name)}
    return set()


def _is_called_by_other_names(names: set[str], source: SourceFile) -> bool:
    """Whether an instance of its class calls a function, or it is handed on: to a table, a decorator, an attribute."""
    if names & _CALLED_BY_INSTANCE:
        return True
    libraries = {
        name.asname or name.name for n in descend(source.tree) if isinstance(n, ast.Import) for name in n.names
    }
    libraries |= vars(builtins).keys()
    for node in descend(source.tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) if name in names:
                decorators = (d.func if isinstance(d, ast.Call) else d for d in node.decorator_list)
                if any(dotted_name(decorator).partition(".")[0] not in libraries for decorator in decorators):
                    return True
            case ast.Name() | ast.Attribute() if terminal_name(node) in names:
                if getattr(source.parents.get(node), "func", None) is not node:
                    return True
    return False


_OURS = "ddelint"
"""Whose entries name what is run."""
_CALLED_BY_INSTANCE = frozenset(("forward", "__call__"))
_CALLED_BY_NAME = frozenset(("__init__", "__new__", "__call__", "__post_init__", "__init_subclass__"))
"""Methods that run where a class or an instance is called."""


@lru_cache(maxsize=16)
def _calls_of_anything(source: SourceFile) -> frozenset[ast.AST]:
    """Calls of what the text does not say: a parameter, a local name, an attribute that is assigned, an element."""
    bound, assigned = set[str](), set[str]()
    for node in descend(source.tree):
        match node:
            case ast.arg(arg=name) | ast.Name(id=name, ctx=ast.Store()):
                bound.add(name)
            case ast.Attribute(attr=name, ctx=ast.Store()):
                assigned.add(name)
    return frozenset(
        node for node in descend(source.tree) if isinstance(node, ast.Call) and _is_one_of(node.func, bound, assigned)
    )


def _is_one_of(called: ast.expr, bound: set[str], assigned: set[str]) -> bool:
    match called:
        case ast.Name(id=name):
            return name in bound
        case ast.Attribute(attr=name):
            return name in assigned
    return True


def _is_guarded(source: SourceFile, node: ast.AST, raised: tuple[type[BaseException] | None, ...]) -> bool:
    child = node
    for parent in source.ancestors(node):
        if isinstance(parent, _SCOPES):
            return False
        if any(_may_catch(kind, one) for kind in caught(parent, child, source) for one in raised):
            return True
        child = parent
    return False


def _may_catch(named: ast.expr | None, raised: type[BaseException] | None) -> bool:
    kind = _type_named(named) if isinstance(named, ast.Name) else None
    return kind is None or raised is None or issubclass(raised, kind)
