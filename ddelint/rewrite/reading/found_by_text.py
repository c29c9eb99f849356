"""Who finds a function by a text: `getattr(importlib.import_module("losses"), name)(3)`, a recipe in a configuration
that says `losses.focal`."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType

from ddelint.knowledge.operators import terminal_name
from ddelint.rewrite.reading.knowledge import knowledge
from ddelint.rewrite.reading.named import calls_of, imported_modules, is_namespace
from ddelint.rewrite.reading.neighbours import (
    files_around,
    files_where,
    has_word,
    imported_words,
    module_name,
    names_of_module,
)
from ddelint.rewrite.reading.plain_data import fits, given_for, is_known_tensor, may_be_text
from ddelint.rewrite.reading.plainly import is_number
from ddelint.sources.source import SourceFile, descend
from ddelint.system.files import read_regular

CONFIGURATIONS = (".cfg", ".ini", ".json", ".toml", ".yaml", ".yml")
_LARGEST = 400_000
"""Bytes of a configuration; what is larger is data."""
_MOST = 200
"""Configurations that are read."""

_DOTTED = bytes(range(ord("a"), ord("z") + 1)) + bytes(range(ord("A"), ord("Z") + 1)) + b"0123456789_."
_BEFORE = (b"", b"=", b":", b"[", b",", b"-", b"{")
_BEHIND = (b"", b",", b"]", b"}", b"#")
"""What a value of a configuration stands between; nothing is the line's own end."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


def configurations_naming(filename: str, function: str) -> Iterator[str]:
    """The places in which configurations of the project have a function's name with its module's as a value
    (`_target_: pkg.losses.focal`, `loss = "losses:focal"`): whoever reads them calls it with what else stands there."""
    names = [os.fsencode(module_name(filename)) + mark + function.encode() for mark in (b".", b":")]
    said = re.compile(rb"\b(?:" + b"|".join(map(re.escape, names)) + rb")\b")
    for other in files_around(filename, CONFIGURATIONS)[:_MOST]:
        try:
            if os.stat(other).st_size > _LARGEST:
                continue
            data = read_regular(other)
            for number, line in enumerate(data.splitlines(), 1) if any(name in data for name in names) else ():
                if any(_is_value(line, found) for found in said.finditer(line)):
                    yield f"line {number} of {os.path.basename(other)}"
        except (OSError, ValueError):
            continue


def _is_value(line: bytes, found: re.Match[bytes]) -> bool:
    """Whether a name in a configuration is all of a value, in quotes or not: no part of a text, nor of a comment."""
    before = line[: found.start()].rstrip(_DOTTED).rstrip(b"\"'").rstrip()
    behind = line[found.end() :].lstrip(b"\"'").lstrip()
    return not before.lstrip().startswith(b"#") and before[-1:] in _BEFORE and behind[:1] in _BEHIND


def calls_by_text(source: SourceFile, function: Function) -> Iterator[tuple[SourceFile, ast.Call]]:
    """The calls of what may be a function of a module, found by a text, that may give it no tensor.

    Where the texts say which function it is, anything counts that is not known to be a tensor; where they are made at
    run time, what plainly is a number, or may be a text, if the function takes such arguments.
    """
    names = {argument.arg for argument in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)}
    module = module_name(source.filename)
    for file in (source, *_files_loading(source.filename, function.name)):
        for call, is_said in _calls(file, module, function.name, is_own=file is source):
            given = list(given_for(function, ast.Call(ast.Name(function.name), call.args, call.keywords), names))
            if is_said:
                is_doubtful = not all(is_known_tensor(file, value) for value in given[:1])
            else:
                is_doubtful = fits(function, call) and any(is_number(file, v) or may_be_text(file, v) for v in given)
            if is_doubtful:
                yield file, call


def _files_loading(filename: str, function: str) -> Iterator[SourceFile]:
    """The files of the project that load modules by their names, or ask this module for functions by theirs."""
    module = os.fsencode(module_name(filename))
    return files_where(filename, lambda one, changed: one != filename and _may_find(one, changed, module, function))


def _may_find(filename: str, changed: int, module: bytes, function: str) -> bool:
    """Whether a file may find a function of a module by texts: it says its name where it loads modules by theirs, or
    makes that and asks the module. Raises OSError, ValueError."""
    asks = has_word(filename, changed, ("getattr",))
    if has_word(filename, changed, (*sorted(knowledge().importing), "sys.modules")):
        return asks or has_word(filename, changed, (function,))
    return asks and module in imported_words(filename, changed)


@lru_cache(maxsize=256)
def _calls(file: SourceFile, module: str, function: str, *, is_own: bool) -> tuple[tuple[ast.Call, bool], ...]:
    """The calls in a file of what may be the function, each with whether the texts say that it is."""
    found: dict[str, bool] = {}
    calls: list[tuple[ast.Call, bool]] = []
    for node in descend(file.tree):
        if isinstance(node, ast.Call) and (is_said := _is_found(file, node.func, module, function, is_own)) is not None:
            calls.append((node, is_said))
        match node:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.NamedExpr(target=ast.Name(id=name), value=value)
            ):
                if (is_said := _is_found(file, value, module, function, is_own)) is not None:
                    found[name] = is_said or found.get(name, False)
    named = ((call, is_said) for name, is_said in found.items() for call in calls_of(file, name))
    return (*calls, *named)


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
            if not by_text and _is_module_name(file, name, module):
                return True
            values = (
                _is_module(file, v, module, by_text=by_text, depth=depth - 1) for v in _assigned(file).get(name, ())
            )
            return next((one for one in values if one is not None), None)
    return None


def _is_module_name(file: SourceFile, name: str, module: str) -> bool:
    """Whether a file calls the module so: `import losses.focal`, `from package import losses as name`."""
    return (name == module and name in imported_modules(file)) or name in names_of_module(file, module)


@lru_cache(maxsize=64)
def _assigned(file: SourceFile) -> Mapping[str, Sequence[ast.expr]]:
    """What each name of a file is given, in whatever function."""
    found: dict[str, list[ast.expr]] = {}
    for node in descend(file.tree):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                found.setdefault(name, []).append(value)
    return MappingProxyType(found)


def _is_text_of(node: ast.expr, name: str) -> bool | None:
    """Whether an expression is the text of a name, dotted or not; None for another text. False: it may be any."""
    match node:
        case ast.Constant(value=value):
            return True if isinstance(value, str) and value.rpartition(".")[2] == name else None
    return False


def _both(one: bool | None, other: bool | None) -> bool | None:
    return None if one is None or other is None else one and other
