"""Exceptions that the code around catches: there, a check that raises another type takes another way."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator

from ddelint.knowledge.operators import dotted_name, terminal_name
from ddelint.rewrite.reading.knowledge import knowledge
from ddelint.sources.sites import Site
from ddelint.sources.source import SourceFile, descend

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


def may_be_caught(site: Site, *, cast: bool = False) -> bool:
    """Whether something in the file may catch what the site's statement raises, or a RuntimeError in its place.

    Looked at: what is around the statement in its function, and around each mention of the function in the file; where
    it may be called by another name (a module is, by its instance), around whatever may be it.
    `cast`: what raises is `int(t)` or `float(t)`: ValueError, or TypeError, for what is no single number.
    """
    raised = (ValueError, TypeError, RuntimeError) if cast else (_raised(site.statement), RuntimeError)
    if _is_guarded(site.source, site.statement, raised):
        return True
    if site.function is None:
        return False
    names = _names_of(site.function, site.source)
    unseen = _calls_of_anything(site.source) if _is_called_by_other_names(names, site.source) else set()
    return any(
        isinstance(node, (ast.Name, ast.Attribute, ast.Call))
        and (node in unseen or terminal_name(node) in names)
        and _is_guarded(site.source, node, raised)
        for node in descend(site.source.tree)
    )


def _raised(statement: ast.stmt) -> type[BaseException] | None:
    """The type that a statement raises, where it is one of Python's own."""
    if isinstance(statement, ast.Assert):
        return AssertionError
    types = {_type_named(n.exc) for n in descend(statement) if isinstance(n, ast.Raise)}
    return types.pop() if len(types) == 1 else None


def _type_named(node: ast.expr | None) -> type[BaseException] | None:
    called = node.func if isinstance(node, ast.Call) else node
    found = getattr(builtins, called.id, None) if isinstance(called, ast.Name) else None
    return found if isinstance(found, type) and issubclass(found, BaseException) else None


def _names_of(function: ast.FunctionDef | ast.AsyncFunctionDef, source: SourceFile) -> set[str]:
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


_CALLED_BY_INSTANCE = frozenset(("forward", "__call__"))


def _calls_of_anything(source: SourceFile) -> set[ast.AST]:
    """Calls of what the text does not say: a parameter, a local name, an attribute that is assigned, an element."""
    bound, assigned = set[str](), set[str]()
    for node in descend(source.tree):
        match node:
            case ast.arg(arg=name) | ast.Name(id=name, ctx=ast.Store()):
                bound.add(name)
            case ast.Attribute(attr=name, ctx=ast.Store()):
                assigned.add(name)
    return {
        node for node in descend(source.tree) if isinstance(node, ast.Call) and _is_one_of(node.func, bound, assigned)
    }


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
        if any(_may_catch(caught, kind) for caught in _caught(parent, child) for kind in raised):
            return True
        child = parent
    return False


def _caught(parent: ast.AST, child: ast.AST) -> Iterator[ast.expr | None]:
    """What `parent` catches of what `child`, one of its parts, raises; None: everything."""
    match parent:
        case ast.Try(body=body, handlers=handlers) | ast.TryStar(body=body, handlers=handlers) if child in body:
            for handler in handlers:
                yield from handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
        case ast.With(items=items, body=body) | ast.AsyncWith(items=items, body=body) if child in body:
            for item in items:
                call = item.context_expr
                if isinstance(call, ast.Call) and terminal_name(call.func) in knowledge().catching:
                    yield from call.args


def _may_catch(caught: ast.expr | None, raised: type[BaseException] | None) -> bool:
    kind = _type_named(caught) if isinstance(caught, ast.Name) else None
    return kind is None or raised is None or issubclass(raised, kind)
