"""Functions that TorchScript compiles, too: it reads the same text, and knows little of what a fix says."""

from __future__ import annotations

import ast
import os
from functools import lru_cache

from ddelint.knowledge.operators import dotted_name, operators, terminal_name
from ddelint.rewrite.reading.neighbours import importers
from ddelint.sources.sites import Site
from ddelint.sources.source import SourceFile, descend

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_ANY = "jit"
"""What a file says of TorchScript by."""


def scripted(site: Site) -> str:
    """Where the file gives the site's function to TorchScript, itself or by what calls it; empty where it doesn't."""
    function, source = site.function, site.source
    if function is None or _ANY not in source.text:
        return ""
    taken = _taken(source)
    owners = [node.name for node in source.ancestors(function) if isinstance(node, ast.ClassDef)]
    around = [node.name for node in source.ancestors(function) if isinstance(node, _FUNCTIONS)]
    row = next((taken[name] for name in (function.name, *owners, *around) if name in taken), 0)
    return f"TorchScript compiles `{function.name}`, too (line {row}), which was not run" if row else ""


def scripted_elsewhere(site: Site) -> str:
    """Which file of the project imports the site's function, or its class, and gives something to TorchScript."""
    function, source = site.function, site.source
    if function is None:
        return ""
    around = [node for node in (function, *source.ancestors(function)) if isinstance(node, (*_FUNCTIONS, ast.ClassDef))]
    for file, _ in importers(source.filename, around[-1].name):
        if _ANY in file.text and any(isinstance(n, ast.Call) and _scripts(n.func) for n in descend(file.tree)):
            name = os.path.basename(file.filename)
            return (
                f"{name} imports `{around[-1].name}`, and may give `{function.name}` to TorchScript, which was not run"
            )
    return ""


@lru_cache(maxsize=16)
def _taken(source: SourceFile) -> dict[str, int]:
    """The functions and classes of a file that TorchScript compiles, by name, each with the line that says so."""
    found: dict[str, int] = {}
    for node in descend(source.tree):
        match node:
            case ast.Call(func=func, args=[first, *_]) if _scripts(func):
                named = [part for part in ast.walk(first) if isinstance(part, (ast.Name, ast.Attribute))]
                names = {name for part in named for name in (terminal_name(part), *_classes_of(part, source))}
                found |= {name: node.lineno for name in names if name}
            case (
                ast.FunctionDef(name=name, decorator_list=decorators)
                | ast.ClassDef(name=name, decorator_list=decorators)
            ) if any(_scripts(d.func if isinstance(d, ast.Call) else d) for d in decorators):
                found[name] = node.lineno
    known: set[str] = set()
    while found.keys() - known:
        known = set(found)
        for node in descend(source.tree):
            if isinstance(node, (*_FUNCTIONS, ast.ClassDef)) and node.name in known:
                called = {terminal_name(c.func) for c in descend(node) if isinstance(c, ast.Call)}
                found |= {name: found[node.name] for name in called - found.keys() if name}
    return found


def _scripts(called: ast.expr) -> bool:
    spelled = operators().regions["scripting"]
    dotted = dotted_name(called)
    return dotted in spelled or any(name.endswith(f".{dotted}") for name in spelled if dotted)


def _classes_of(named: ast.expr, source: SourceFile) -> set[str]:
    """The classes that a name is an instance of, where the file makes it."""
    return {
        terminal_name(node.value.func)
        for node in descend(source.tree)
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Call)
        and any(ast.unparse(target) == ast.unparse(named) for target in node.targets)
    }
