"""What a module was made with, as far as the text around a decision reads it of `self`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddelint.knowledge.operators import dotted_name, terminal_name
from ddelint.sources.source import SourceFile, descend

_SELF = "self."


def settings_of(source: SourceFile, test: ast.expr) -> Iterator[tuple[str, bool]]:
    """The attributes that are read of `self` in the methods of the class around a decision's test, each with whether
    the test itself rests on it: `least` of `self.least`, `config.least` of `self.config.least`.

    The test of a function that stands in no class rests on what classes of the file give that function.
    """
    function = next((n for n in source.ancestors(test) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))), None)
    owner = next((parent for parent in source.ancestors(test) if isinstance(parent, ast.ClassDef)), None)
    for name in dict.fromkeys(_read(_asked_about(test, function))):
        yield name, True
    if owner is None and function is not None:
        for call in descend(source.tree):
            if isinstance(call, ast.Call) and terminal_name(call.func) == function.name:
                for given in (*call.args, *(keyword.value for keyword in call.keywords)):
                    yield from ((name, True) for name in _read([given]))
    for method in owner.body if owner is not None else ():
        if isinstance(method, ast.FunctionDef) and method.name != "__init__":
            yield from ((name, False) for name in _read([method]))


def _asked_about(test: ast.expr, function: ast.AST | None) -> Iterator[ast.AST]:
    """The test, and what its names were given in the function around it."""
    yield test
    names = {node.id for node in ast.walk(test) if isinstance(node, ast.Name)}
    for node in ast.walk(function) if function is not None else ():
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if name in names:
                yield value
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value) if name in names:
                yield value
            case ast.NamedExpr(target=ast.Name(id=name), value=value) if name in names:
                yield value


def _read(parts: Iterator[ast.AST] | list[ast.expr] | list[ast.FunctionDef]) -> Iterator[str]:
    """The attributes of `self` that are read, the longest chain of each: of `self.config.least` no `config`."""
    for part in parts:
        inside: set[ast.AST] = set()
        for node in ast.walk(part):
            if not isinstance(node, ast.Attribute) or node in inside or not isinstance(node.ctx, ast.Load):
                continue
            inside |= {inner for inner in ast.walk(node) if inner is not node}
            name = dotted_name(node)
            if name.startswith(_SELF):
                yield name.removeprefix(_SELF)
