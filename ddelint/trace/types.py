"""Which types the names of a function have: seen in eager runs of the original, through `sys.settrace`."""

from __future__ import annotations

import ast
import inspect
import os
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from types import CodeType, FrameType
from typing import Any

import torch

from ddelint.nouns.diagnostics import TypeFact, at_row
from ddelint.nouns.protocol import RETURNED, EntryFailure, Types
from ddelint.trace import failures
from ddelint.trace.entry import Entry
from ddelint.trace.limits import TooMuch, limited
from ddelint.trace.ownership import is_users
from ddelint.trace.values import describe_value

SEEDS = 4
"""Runs with different inputs: sizes that differ between them become `?`."""
_MOST_SEEDS = 8
"""Inputs that are tried for that: some are meant to raise."""
_MOST_CALLS = 64
"""Calls of one function that are watched in one run; a loop over a million rows says no more than its first ones."""
_MOST_LINES = 2000
"""Line events of one call that are looked at."""
_NAMELESS = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>", "<lambda>")
_MISSING = object()


def record(
    entry: Entry, paths: Sequence[str], seed: int, functions: Collection[str] = (), seconds: float = 3600.0
) -> Types:
    """Run the entry for a few seeds and describe every local, and every attribute chain that the source reads.

    `functions`: keys `filename::qualname` to restrict to (empty: all functions under `paths`). Types that disagree
    merge: sizes that differ to `?`, kinds that differ to `other`. Of the user's other files it is only said which
    functions ran. A run that raises still counts up to there; `failure` is set where all of them raise. What was seen
    in so many `seconds` is all there is.
    """
    recorder = _Recorder(paths, functions)
    failure: EntryFailure | None = None
    with suppress(TooMuch), limited(seconds, None):
        failure = _watched(entry, paths, seed, recorder)
    return Types(
        functions=recorder.functions,
        rows={filename: tuple(sorted(rows)) for filename, rows in recorder.rows.items()},
        failure=failure,
    )


def _watched(entry: Entry, paths: Sequence[str], seed: int, recorder: _Recorder) -> EntryFailure | None:
    """Run the entry for a few seeds under a recorder; gives the first failure where no run returns."""
    failure: EntryFailure | None = None
    completed = 0
    for number in range(seed, seed + (_MOST_SEEDS if entry.seeded else 1)):
        if completed == SEEDS:
            break
        program = entry.build()
        args, kwargs = entry.inputs(number)
        try:
            with entry.surroundings(), torch.compiler.set_stance("force_eager"), recorder:
                program(*args, **kwargs)
            completed += 1
        except Exception as error:
            failure = failure or failures.from_exception(error, paths, entry.filename)
    return None if completed else failure


def merge(one: TypeFact, other: TypeFact) -> TypeFact:
    """What is true of both."""
    if one == other:
        return one
    if one.kind != other.kind:
        return TypeFact(kind="other")
    shape = None
    if one.shape is not None and other.shape is not None and len(one.shape) == len(other.shape):
        shape = tuple(left if left == right else "?" for left, right in zip(one.shape, other.shape))
    return replace(
        one,
        dtype=one.dtype if one.dtype == other.dtype else "",
        shape=shape,
        requires_grad=one.requires_grad or other.requires_grad,
        role=one.role if one.role == other.role else "",
        frozen=one.frozen or other.frozen,
        length=one.length if one.length == other.length else None,
        element=_merged_elements(one, other),
        items=_merged_items(one, other),
        value=one.value if one.value == other.value else None,
        python_type=one.python_type if one.python_type == other.python_type else "",
    )


def _merged_elements(one: TypeFact, other: TypeFact) -> TypeFact | None:
    if one.element is None:
        return other.element if one.length == 0 else None
    if other.element is None:
        return one.element if other.length == 0 else None
    merged = merge(one.element, other.element)
    return merged if merged.kind != "other" or one.element.kind == "other" else None


def _merged_items(one: TypeFact, other: TypeFact) -> tuple[tuple[str, TypeFact], ...]:
    if [key for key, _ in one.items] != [key for key, _ in other.items]:
        return ()
    return tuple((key, merge(fact, same)) for (key, fact), (_, same) in zip(one.items, other.items))


class _Recorder:
    """A trace function for the files under `paths`; a context manager that switches it on."""

    def __init__(self, paths: Sequence[str], functions: Collection[str]) -> None:
        self._paths = tuple(paths)
        self._wanted = frozenset(functions)
        self._keys: dict[CodeType, str | None] = {}
        self._chains: dict[str, dict[str, tuple[str, ...]]] = {}
        self._read: set[str] = set()
        self._calls: dict[CodeType, int] = {}
        self._elsewhere: set[str] = set()
        self._found: dict[str, dict[str, TypeFact]] = {}
        self._inner: dict[str, dict[str, TypeFact]] = {}
        self._by_row: dict[str, dict[str, TypeFact]] = {}
        self._before: Any = None
        self.rows: dict[str, set[int]] = {}
        """Filename → rows that ran."""

    @property
    def functions(self) -> Mapping[str, Mapping[str, TypeFact]]:
        """What was seen so far; nothing of functions elsewhere. Names of comprehensions and lambdas count for the
        function around them.

        A name of several kinds (`rows = []`, later `rows = torch.stack(rows)`) is also known by the row that gave it
        its value (`rows@12`).
        """
        keys = dict.fromkeys((*self._found, *self._inner, *sorted(self._elsewhere)))
        return {key: {**self._inner.get(key, {}), **self._found.get(key, {}), **self._told_by_row(key)} for key in keys}

    def _told_by_row(self, key: str) -> dict[str, TypeFact]:
        names = {name for name, fact in self._found.get(key, {}).items() if fact.kind == "other"}
        return {text: fact for text, fact in self._by_row.get(key, {}).items() if text.partition("@")[0] in names}

    def __enter__(self) -> None:
        self._calls.clear()
        self._before = sys.gettrace()
        sys.settrace(self._on_call)

    def __exit__(self, *error: object) -> None:
        sys.settrace(self._before)

    def _on_call(self, frame: FrameType, event: str, argument: object) -> Any:
        code = frame.f_code
        key = self._keys.get(code, _MISSING)
        if key is _MISSING:
            key = self._keys[code] = self._key(code)
        if not isinstance(key, str):
            return None
        calls = self._calls[code] = self._calls.get(code, 0) + 1
        rows = self.rows.setdefault(key.partition("::")[0], set())
        if calls > _MOST_CALLS or (self._wanted and key not in self._wanted):
            return _row_watch(rows)
        return _Watch(self, key, code, rows).on_event

    def _key(self, code: CodeType) -> str | None:
        if code.co_name == "<module>":
            return None
        filename = os.path.abspath(code.co_filename)
        key = f"{filename}::{_owner(code)}"
        if failures.inside(filename, self._paths):
            return key
        if not self._wanted and is_users(code.co_filename):
            self._elsewhere.add(key)
        return None

    def chains(self, key: str) -> Mapping[str, tuple[str, ...]]:
        """Attribute chains that the function's source reads: text → parts."""
        filename = key.partition("::")[0]
        if filename not in self._read:
            self._read.add(filename)
            for function, found in _chains_of_file(filename).items():
                self._chains.setdefault(f"{filename}::{function}", {}).update(
                    {text: tuple(text.split(".")) for text in found}
                )
        return self._chains.get(key, {})

    def note(self, key: str, inner: bool, name: str, value: Any, role: str = "", row: int = 0) -> None:
        """Merge what `name` holds now into what is known; `row` is the one that gave it the value, 0 where unknown."""
        try:
            fact = describe_value(value, role=role)
        except Exception:
            # a value whose class misbehaves when looked at
            fact = TypeFact(kind="other")
        _merge_into((self._inner if inner else self._found).setdefault(key, {}), name, fact)
        if row and not inner:
            _merge_into(self._by_row.setdefault(key, {}), at_row(name, row), fact)


def _merge_into(table: dict[str, TypeFact], name: str, fact: TypeFact) -> None:
    known = table.get(name)
    table[name] = fact if known is None else merge(known, fact)


class _Watch:
    """One call of one function."""

    def __init__(self, recorder: _Recorder, key: str, code: CodeType, rows: set[int]) -> None:
        self._rows = rows
        self._recorder = recorder
        self._key = key
        self._inner = code.co_name in _NAMELESS
        self._last: dict[str, Any] = {}
        self._row = 0
        self._lines = 0

    def on_event(self, frame: FrameType, event: str, argument: object) -> Any:
        """The local trace function: names that changed since the last line, and everything at the return."""
        if event == "line":
            self._rows.add(frame.f_lineno)
            self._lines += 1
            if self._lines <= _MOST_LINES:
                self._look(frame, everything=False)
            self._row = frame.f_lineno
        elif event == "return":
            self._look(frame, everything=True)
            if argument is not None and not self._inner:  # an exception gives None as well
                self._recorder.note(self._key, False, RETURNED, argument)
            self._last.clear()
        return self.on_event

    def _look(self, frame: FrameType, *, everything: bool) -> None:
        # settrace is off while a trace function runs, so nothing here is traced itself
        values = frame.f_locals
        for name, value in values.items():
            changed = self._last.get(name, _MISSING) is not value
            if not name.startswith(".") and (everything or changed):
                self._last[name] = value
                self._recorder.note(self._key, self._inner, name, value, row=self._row if changed else 0)
        if everything or self._lines == 1:
            for text, parts in self._recorder.chains(self._key).items():
                value = values.get(parts[0], _MISSING)
                found = _follow(value, parts[1:]) if value is not _MISSING else None
                if found is not None:
                    self._recorder.note(self._key, self._inner, text, *found)


def _row_watch(rows: set[int]) -> Any:
    """A local trace function that only notes which rows run."""

    def on_event(frame: FrameType, event: str, argument: object) -> Any:
        if event == "line":
            rows.add(frame.f_lineno)
        return on_event

    return on_event


def _owner(code: CodeType) -> str:
    """The qualified name of the function, or of the function around a comprehension or lambda."""
    parts = code.co_qualname.split(".")
    while len(parts) > 2 and parts[-1] in _NAMELESS and parts[-2] == "<locals>":
        del parts[-2:]
    return ".".join(parts)


def _follow(value: Any, parts: Sequence[str]) -> tuple[Any, str] | None:
    """The value at the end of an attribute chain, and its role. Runs no property and no `__getattr__` of the user's."""
    role = ""
    for part in parts:
        if isinstance(value, (torch.Tensor, *_SYMBOLIC)):
            return None
        role = ""
        found = _MISSING
        own = getattr(value, "__dict__", None)
        if isinstance(own, dict):
            if isinstance(value, torch.nn.Module):
                for table, kind in (("_parameters", "parameter"), ("_buffers", "buffer"), ("_modules", "")):
                    entries = own.get(table)
                    if isinstance(entries, dict) and part in entries:
                        found, role = entries[part], kind
            if found is _MISSING and part in own:
                found = own[part]
        if found is _MISSING:
            found = inspect.getattr_static(value, part, _MISSING)
            if isinstance(found, (property, classmethod, staticmethod)) or hasattr(type(found), "__get__"):
                return None
        if found is _MISSING:
            return None
        value = found
    return value, role


_SYMBOLIC = (torch.SymInt, torch.SymFloat, torch.SymBool)


def _chains_of_file(filename: str) -> dict[str, set[str]]:
    """Qualified function name → texts of the attribute chains that it loads or assigns (`self.bias`, `config.n`)."""
    try:
        with open(filename, "rb") as file:
            tree = ast.parse(file.read(), filename)
    except (OSError, SyntaxError, ValueError):
        return {}
    found: dict[str, set[str]] = {}
    for name, function in _functions(tree, ""):
        chains = found.setdefault(name, set())
        for node in ast.walk(function):
            text = _chain_text(node) if isinstance(node, ast.Attribute) else None
            if text is not None:
                chains.add(text)
    return found


def _functions(node: ast.AST, prefix: str) -> Iterator[tuple[str, ast.AST]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield prefix + child.name, child
            yield from _functions(child, f"{prefix}{child.name}.<locals>.")
        elif isinstance(child, ast.ClassDef):
            yield from _functions(child, f"{prefix}{child.name}.")
        else:
            yield from _functions(child, prefix)


def _chain_text(node: ast.expr) -> str | None:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    return ".".join([node.id, *reversed(parts)])
