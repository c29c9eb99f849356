"""Context managers, and what they keep to themselves of what is raised inside."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from ddelint.knowledge.operators import dotted_name, terminal_name
from ddelint.rewrite.reading.knowledge import knowledge
from ddelint.rewrite.reading.names import names_written
from ddelint.rewrite.reading.neighbours import imported
from ddelint.sources.source import SourceFile, descend

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_INNER = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_LEAVING = (ast.Return, ast.Break, ast.Continue)


def caught(parent: ast.AST, child: ast.AST, source: SourceFile) -> Iterator[ast.expr | None]:
    """The types that `parent` catches of what `child`, one of its parts, raises; None: everything."""
    match parent:
        case ast.Try(finalbody=last) | ast.TryStar(finalbody=last) if child not in last and _leaves(last):
            yield None
    match parent:
        case ast.Try(body=body, handlers=handlers) | ast.TryStar(body=body, handlers=handlers) if child in body:
            for handler in handlers:
                yield from handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
        case ast.With(items=items, body=body) | ast.AsyncWith(items=items, body=body) if child in body:
            for item in items:
                yield from _caught_by(item.context_expr, source)


def _leaves(block: list[ast.stmt]) -> bool:
    """Whether a `finally` goes elsewhere, and so drops what was raised."""
    pending: list[ast.AST] = list(block)
    while pending:
        node = pending.pop()
        if isinstance(node, _LEAVING):
            return True
        if not isinstance(node, _INNER):
            pending += ast.iter_child_nodes(node)
    return False


def _caught_by(manager: ast.expr | None, source: SourceFile, depth: int = 2) -> Iterator[ast.expr | None]:
    """What a context manager catches: as its arguments say, or its definition in the file, or in the project's file
    that it is imported from; any other everything, but those of libraries that are known to catch nothing."""
    if manager is None or isinstance(manager, ast.IfExp):
        for choice in (manager.body, manager.orelse) if manager is not None else ():
            yield from _caught_by(choice, source, depth)
        return
    named = manager.func if isinstance(manager, ast.Call) else manager
    if isinstance(manager, ast.Call) and terminal_name(named) in knowledge().catching:
        yield from manager.args
        if not manager.args:
            yield None
        return
    name = terminal_name(named)
    defined = _definitions(source).get(name, ())
    for node in defined:
        if not isinstance(node, ast.ClassDef):
            yield from _caught_around_yield(node, source, depth)
        elif _may_swallow(node):
            yield None
    if defined or library(named, source) in knowledge().catching_nothing:
        return
    elsewhere = imported(source, dotted_name(named).partition(".")[0]) if depth else None
    if elsewhere is None:
        yield None
    else:
        file, called = elsewhere
        yield from _caught_by(ast.Name(called or name), file, depth - 1)


def _caught_around_yield(function: _Function, source: SourceFile, depth: int) -> Iterator[ast.expr | None]:
    """What a generator catches that `contextlib.contextmanager` turns into a context manager; or what a function that
    returns one does."""
    yields = [node for node in descend(function) if isinstance(node, ast.Yield)]
    if not yields:
        returned = [node.value for node in descend(function) if isinstance(node, ast.Return)] if depth else []
        if not returned:
            yield None
        for value in returned:
            yield from _caught_by(value, source, depth - 1)
    for node in yields:
        child: ast.AST = node
        for parent in source.ancestors(node):
            yield from caught(parent, child, source)
            if parent is function:
                break
            child = parent


def _may_swallow(owner: ast.ClassDef) -> bool:
    """Whether the `__exit__` of a class may give anything but None or False; true where it is of another class."""
    exits = [node for node in owner.body if isinstance(node, _Function) and node.name in ("__exit__", "__aexit__")]
    returned = [node.value for function in exits for node in descend(function) if isinstance(node, ast.Return)]
    return not exits or any(
        value is not None and not (isinstance(value, ast.Constant) and not value.value) for value in returned
    )


def library(node: ast.expr, source: SourceFile) -> str:
    """The package that a name comes from, by the file's imports; of a name of Python, and of no other, that name."""
    root = dotted_name(node).partition(".")[0]
    return _packages(source).get(root, root)


def is_of_torch_or_python(function: ast.expr, source: SourceFile) -> bool:
    """Whether what is called is a function of torch's, by the file's imports, or a built-in one."""
    is_built_in = isinstance(function, ast.Name) and hasattr(builtins, function.id)
    return is_built_in or library(function, source) == "torch"


def origin(node: ast.expr, source: SourceFile) -> str:
    """The dotted name of what a name is for, by the file's imports: `torch.distributions.Normal` for `D.Normal`."""
    root, _, rest = dotted_name(node).partition(".")
    return ".".join(filter(None, (_origins(source).get(root, root), rest)))


def is_imported(node: ast.expr, source: SourceFile) -> bool:
    """Whether an attribute is one of something that the file imports: `json.load`."""
    return isinstance(node, ast.Attribute) and dotted_name(node).partition(".")[0] in _packages(source)


@lru_cache(maxsize=16)
def _packages(source: SourceFile) -> Mapping[str, str]:
    """Name → the package that the file's imports take it from, "" for one around the file."""
    found: dict[str, str] = {}
    for statement in descend(source.tree):
        match statement:
            case ast.Import(names=names):
                for alias in names:
                    for name in names_written(alias):
                        found.setdefault(name, alias.name.partition(".")[0])
            case ast.ImportFrom(names=names, module=module, level=level):
                for name in names_written(*names):
                    found.setdefault(name, "" if level else (module or "").partition(".")[0])
    return found


@lru_cache(maxsize=16)
def _origins(source: SourceFile) -> Mapping[str, str]:
    """Name → what the file's imports take it for."""
    found: dict[str, str] = {}
    for statement in descend(source.tree):
        match statement:
            case ast.Import(names=names):
                found |= {alias.asname: alias.name for alias in names if alias.asname is not None}
            case ast.ImportFrom(names=names, module=str(module), level=0):
                found |= {alias.asname or alias.name: f"{module}.{alias.name}" for alias in names}
    return found


@lru_cache(maxsize=16)
def _definitions(source: SourceFile) -> Mapping[str, Sequence[_Function | ast.ClassDef]]:
    """Name → the functions and classes of that name, wherever in the file."""
    found: dict[str, list[_Function | ast.ClassDef]] = {}
    for node in descend(source.tree):
        if isinstance(node, (_Function, ast.ClassDef)):
            found.setdefault(node.name, []).append(node)
    return found
