"""Who finds a function by a text: `getattr(importlib.import_module("losses"), name)(3)`, a recipe in a configuration
that says `losses.focal`."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Collection, Iterator
from functools import lru_cache

from ddelint.knowledge.operators import terminal_name
from ddelint.rewrite.reading.in_texts import source_of
from ddelint.rewrite.reading.knowledge import knowledge
from ddelint.rewrite.reading.named import calls_of, imported_modules, is_namespace
from ddelint.rewrite.reading.neighbours import files_around, module_name
from ddelint.rewrite.reading.plain_data import fits, given_for, is_known_tensor, may_be_text
from ddelint.rewrite.reading.plainly import is_number
from ddelint.sources.source import SourceError, SourceFile, descend
from ddelint.system.files import read_regular

CONFIGURATIONS = (".cfg", ".ini", ".json", ".toml", ".yaml", ".yml")
_LARGEST = 400_000
"""Bytes of a configuration; what is larger is data."""
_MOST = 200
"""Configurations that are read."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


def configurations_naming(filename: str, function: str) -> Iterator[str]:
    """The places in which configurations of the project say a function's name with its module's (`losses.focal`,
    `pkg.losses:focal`): whoever reads them calls it with what else stands there."""
    said = re.compile(rb"\b" + os.fsencode(module_name(filename)) + rb"[.:]" + function.encode() + rb"\b(?![.(])")
    for other in files_around(filename, CONFIGURATIONS)[:_MOST]:
        try:
            if os.stat(other).st_size > _LARGEST:
                continue
            for number, line in enumerate(read_regular(other).splitlines(), 1):
                if said.search(line.split(b"#")[0]) is not None:
                    yield f"line {number} of {os.path.basename(other)}"
        except (OSError, ValueError):
            continue


def calls_by_text(source: SourceFile, function: Function) -> Iterator[tuple[SourceFile, ast.Call]]:
    """The calls of what may be a function of a module, found by a text, that may give it no tensor.

    Where the texts say which function it is, anything counts that is not known to be a tensor; where they are made at
    run time, what plainly is a number, or may be a text, if the function takes such arguments.
    """
    names = {argument.arg for argument in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)}
    for file in (source, *_files_loading(source.filename)):
        for call, is_said in _calls(file, module_name(source.filename), function.name, is_own=file is source):
            given = list(given_for(function, ast.Call(ast.Name(function.name), call.args, call.keywords), names))
            if is_said:
                is_doubtful = not all(is_known_tensor(file, value) for value in given[:1])
            else:
                is_doubtful = fits(function, call) and any(is_number(file, v) or may_be_text(file, v) for v in given)
            if is_doubtful:
                yield file, call


def _files_loading(filename: str) -> Iterator[SourceFile]:
    """The files of the project that load modules by their names, or ask modules for functions by theirs."""
    for other in files_around(filename):
        try:
            changed = os.stat(other).st_mtime_ns
            if other != filename and _loads(other, changed):
                yield _read(other, changed)
        except (OSError, SourceError, ValueError):
            continue


@lru_cache(maxsize=3000)
def _loads(filename: str, _changed: int) -> bool:
    """Whether a file may find functions by texts. Raises OSError."""
    words = b"|".join(word.encode() for word in ("getattr", *knowledge().importing))
    return re.search(rb"\b(?:" + words + rb")\s*\(", read_regular(filename)) is not None


@lru_cache(maxsize=64)
def _read(filename: str, _changed: int) -> SourceFile:
    return source_of(filename)


def _calls(file: SourceFile, module: str, function: str, *, is_own: bool) -> Iterator[tuple[ast.Call, bool]]:
    """The calls in a file of what may be the function, each with whether the texts say that it is."""
    found: dict[str, bool] = {}
    for node in descend(file.tree):
        if isinstance(node, ast.Call) and (is_said := _is_found(file, node.func, module, function, is_own)) is not None:
            yield node, is_said
        match node:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.NamedExpr(target=ast.Name(id=name), value=value)
            ):
                if (is_said := _is_found(file, value, module, function, is_own)) is not None:
                    found[name] = is_said or found.get(name, False)
    yield from ((call, is_said) for name, is_said in found.items() for call in calls_of(file, name))


def _is_found(file: SourceFile, node: ast.expr, module: str, function: str, is_own: bool) -> bool | None:
    """Whether an expression is for sure the function, found by a text; None where it is something else."""
    match node:
        case ast.Attribute(value=holder, attr=name) if name == function:
            return _is_module(file, holder, module, by_text=True)
        case ast.Call(func=ast.Name(id="getattr"), args=[holder, named, *_]):
            return _both(_is_module(file, holder, module), _is_text_of(named, function))
        case ast.Subscript(value=holder, slice=named) if is_own and is_namespace(holder):
            own = not isinstance(holder, ast.Attribute) and not getattr(holder, "args", True)
            return _is_text_of(named, function) if own else None
    return None


def _is_module(file: SourceFile, node: ast.expr, module: str, *, by_text: bool = False, depth: int = 2) -> bool | None:
    """Whether an expression is for sure the module; None where it is another one."""
    match node:
        case ast.Call(func=called, args=[named, *_]) if terminal_name(called) in knowledge().importing:
            return _is_text_of(named, module)
        case ast.Subscript(value=ast.Attribute(attr="modules"), slice=named):
            return _is_text_of(named, module)
        case ast.Name(id=name) if depth:
            if not by_text and name in _modules(file, module):
                return True
            values = (_is_module(file, v, module, by_text=by_text, depth=depth - 1) for v in _assigned(file, name))
            return next((one for one in values if one is not None), None)
    return None


def _assigned(file: SourceFile, name: str) -> Iterator[ast.expr]:
    for node in descend(file.tree):
        match node:
            case ast.Assign(targets=[ast.Name(id=found)], value=value) if found == name:
                yield value


@lru_cache(maxsize=64)
def _modules(file: SourceFile, module: str) -> Collection[str]:
    """What a file calls a module that it imports."""
    found = {name for name in imported_modules(file) if name == module}
    for node in file.tree.body:
        for alias in node.names if isinstance(node, (ast.Import, ast.ImportFrom)) else ():
            if alias.name.rpartition(".")[2] == module:
                found.add(alias.asname or module)
    return found


def _is_text_of(node: ast.expr, name: str) -> bool | None:
    """Whether an expression is the text of a name, dotted or not; None for another text. False: it may be any."""
    match node:
        case ast.Constant(value=value):
            return True if isinstance(value, str) and value.rpartition(".")[2] == name else None
    return False


def _both(one: bool | None, other: bool | None) -> bool | None:
    return None if one is None or other is None else one and other
