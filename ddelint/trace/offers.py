"""Whether a file offers an entry by itself, read off its syntax: nothing is executed, torch is not imported.

The conventions stand here once; `entries` follows the same order when it runs the file.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from ddelint.sources.source import SourceError, SourceFile

ENTRIES = "ddelint_entries"
MODEL_CLASS = "Model"
FUNCTION = "fn"
GET_INPUTS = "get_inputs"
GET_INIT_INPUTS = "get_init_inputs"
MAKE_INPUTS = "make_inputs"
INSTANCE = "model"
ARGS = "args"
KWARGS = "kwargs"
LIGHTNING_BASE = "LightningModule"
EXAMPLE_INPUTS = "example_input_array"
UNBACKED = "UNBACKED"
DYNAMIC = "DYNAMIC"

CONVENTIONS = (
    f"`{ENTRIES}()` that returns ddelint.Entry objects; `{GET_INPUTS}()` (and `{GET_INIT_INPUTS}()`) beside a class "
    f"`{MODEL_CLASS}`; `{MAKE_INPUTS}(seed)` beside `{MODEL_CLASS}` or `{FUNCTION}`; module-level `{INSTANCE}` with "
    f"`{ARGS}` and `{KWARGS}`; a LightningModule's `{EXAMPLE_INPUTS}`"
)
"""For messages: what a file may define so that it can be run without further options."""


def static_offer(source: SourceFile) -> str | None:
    """What the file offers to run (`model.py:Model, inputs from make_inputs(seed)`), or None.

    Only top-level definitions count (inside top-level `if`, `try` and `with` blocks, too). A file that does not parse
    offers nothing.
    """
    if not _may_offer(source.text):
        return None
    try:
        defined = _definitions(source.tree)
    except SourceError:
        return None
    name = Path(source.filename).name
    classes = {key for key, node in defined.items() if isinstance(node, ast.ClassDef)}
    if ENTRIES in defined:
        return f"{name}:{ENTRIES}()"
    if GET_INPUTS in defined and MODEL_CLASS in defined:
        return f"{name}:{MODEL_CLASS}, inputs from {GET_INPUTS}()"
    if MAKE_INPUTS in defined:
        for program in (MODEL_CLASS, FUNCTION):
            if program in defined:
                return f"{name}:{program}, inputs from {_call_text(defined[MAKE_INPUTS])}"
    if INSTANCE in defined and (ARGS in defined or KWARGS in defined):
        return f"{name}:{INSTANCE}, inputs from {ARGS} and {KWARGS}"
    for key in sorted(classes, key=lambda key: defined[key].lineno):
        node = defined[key]
        if isinstance(node, ast.ClassDef) and _is_lightning(node, defined) and _has_example_inputs(node):
            return f"{name}:{key}, inputs from {EXAMPLE_INPUTS}"
    return None


def _may_offer(text: str) -> bool:
    """Whether the text names what an offer is made of. False is certain, and far cheaper than parsing."""
    if any(name in text for name in (ENTRIES, GET_INPUTS, MAKE_INPUTS, EXAMPLE_INPUTS)):
        return True
    return all(_bound(name).search(text) for name in (INSTANCE, rf"(?:{ARGS}|{KWARGS})"))


@cache
def _bound(name: str) -> re.Pattern[str]:
    """A line that may bind the name: an assignment, an import (on a line of its own, too), a definition."""
    return re.compile(
        rf"^[^\n#=]{{0,300}}\b{name}\b[^\n=]{{0,300}}=|\bimport\b[^\n]{{0,500}}\b{name}\b|"
        rf"^[ \t]*{name},?[ \t]*$|\b(?:def|class) {name}\b",
        re.MULTILINE,
    )


def _definitions(tree: ast.Module) -> dict[str, ast.stmt]:
    """Every name that the module's own level binds, with the statement that binds it last."""
    found: dict[str, ast.stmt] = {}
    for statement in _statements(tree.body):
        match statement:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                found[name] = statement
            case ast.Assign(targets=targets):
                for target in targets:
                    for node in ast.walk(target):
                        if isinstance(node, ast.Name):
                            found[node.id] = statement
            case ast.AnnAssign(target=ast.Name(id=name), value=value) if value is not None:
                found[name] = statement
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                for alias in names:
                    found[(alias.asname or alias.name).split(".")[0]] = statement
    return found


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for statement in body:
        yield statement
        match statement:
            case ast.If() if _is_main_guard(statement):
                yield from _statements(statement.orelse)
            case ast.If() | ast.For() | ast.While():
                yield from _statements(statement.body)
                yield from _statements(statement.orelse)
            case ast.With():
                yield from _statements(statement.body)
            case ast.Try():
                yield from _statements(statement.body)
                for handler in statement.handlers:
                    yield from _statements(handler.body)
                yield from _statements(statement.orelse)
                yield from _statements(statement.finalbody)


def _is_main_guard(statement: ast.If) -> bool:
    return any(isinstance(node, ast.Name) and node.id == "__name__" for node in ast.walk(statement.test))


def _call_text(statement: ast.stmt) -> str:
    match statement:
        case ast.FunctionDef(name=name, args=ast.arguments(args=[first, *_])):
            return f"{name}({first.arg})"
        case ast.FunctionDef(name=name):
            return f"{name}()"
    return MAKE_INPUTS


def _is_lightning(node: ast.ClassDef, defined: dict[str, ast.stmt], depth: int = 8) -> bool:
    for base in node.bases:
        name = ast.unparse(base).split("[")[0].rpartition(".")[2]
        if name == LIGHTNING_BASE:
            return True
        parent = defined.get(name)
        if (
            depth
            and isinstance(parent, ast.ClassDef)
            and parent is not node
            and _is_lightning(parent, defined, depth - 1)
        ):
            return True
    return False


def _has_example_inputs(node: ast.ClassDef) -> bool:
    for child in ast.walk(node):
        match child:
            case ast.Attribute(attr=attr, ctx=ast.Store()) if attr == EXAMPLE_INPUTS:
                return True
            case ast.Name(id=name, ctx=ast.Store()) if name == EXAMPLE_INPUTS:
                return True
            case ast.FunctionDef(name=name) if name == EXAMPLE_INPUTS:
                return True
    return False
