"""Which side of a decision is taken: its expression is wrapped in the live functions, and unwrapped at the end."""

from __future__ import annotations

import ast
import builtins
import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

from ddelint.protocol import Decision
from ddelint.sites import locate
from ddelint.source import SourceError, SourceFile
from ddelint.trace.overlay import live_functions
from ddelint.verify.distances import COMPARE, Shape, difference, distance, parts_of

_RECORD = "__ddelint_record__"


class Recorder:
    """The sides taken since the last `take`."""

    def __init__(self) -> None:
        self._seen: dict[str, set[bool]] = {}
        self._nearest: dict[tuple[str, bool], float] = {}
        self._differences: dict[str, dict[int, tuple[str, Any]]] = {}
        self.shapes: dict[str, Shape] = {}
        """How each decision's test is built of comparisons, where it is."""
        self.missing: tuple[str, ...] = ()
        """Keys of decisions that could not be found in the running program."""

    def take(self) -> dict[str, set[bool]]:
        """Decision key → sides taken since the last call of this method."""
        seen, self._seen = self._seen, {}
        self._nearest = {}
        return seen

    def nearest(self) -> dict[tuple[str, bool], float]:
        """(decision key, side) → how far, at the nearest, a decision has been from it since the last `take`."""
        return dict(self._nearest)

    def part(self, key: str, number: int, sign: str, left: Any, right: Any) -> Any:
        """Compare, and note by how much the two sides of comparison `number` in the decision `key` differ."""
        by = difference(left, right)
        if by is not None:
            self._differences.setdefault(key, {})[number] = (sign, by)
        return COMPARE[sign](left, right)

    def __call__(self, key: str, value: Any) -> Any:
        """Note the truth of `value` under `key`, and give it back."""
        with contextlib.suppress(Exception):  # the program itself will raise on it
            self._seen.setdefault(key, set()).add(bool(value))
        differences = self._differences.pop(key, {})
        if key in self.shapes:
            for side in (True, False):
                far = distance(self.shapes[key], differences, side)
                self._nearest[key, side] = min(far, self._nearest.get((key, side), far))
        return value


@contextlib.contextmanager
def recording(decisions: Sequence[Decision]) -> Iterator[Recorder]:
    """Wrap each decision's expression in the functions that are alive; unwrap them at the end.

    The spans are on the text on disk, from which the original was loaded. Decisions that are not found there, or whose
    function is not alive, are named in the recorder's `missing`.
    """
    recorder = Recorder()
    by_file: dict[str, list[Decision]] = {}
    for decision in decisions:
        by_file.setdefault(decision.span.filename, []).append(decision)
    swapped: list[tuple[FunctionType, CodeType]] = []
    missing: list[str] = []
    setattr(builtins, _RECORD, recorder)
    try:
        for filename, group in by_file.items():
            codes, lost = _instrumented(filename, group, recorder)
            missing += lost
            swapped += _swap(filename, codes)
        recorder.missing = tuple(missing)
        yield recorder
    finally:
        for function, code in swapped:
            function.__code__ = code
        delattr(builtins, _RECORD)


def _instrumented(
    filename: str, decisions: Sequence[Decision], recorder: Recorder
) -> tuple[dict[CodeType, CodeType], list[str]]:
    """Original code → code that records, for each function of the file; and the keys that were not found."""
    try:
        source = SourceFile.read(Path(filename))
        plain = compile(source.text, filename, "exec", dont_inherit=True)
        tree = ast.parse(source.text, filename)
    except (OSError, SourceError, SyntaxError, ValueError):
        return {}, [decision.key for decision in decisions]
    wanted: dict[_Position, list[str]] = {}
    compared: dict[_Position, tuple[str, int, str]] = {}
    missing = []
    for decision in decisions:
        site = locate(source, decision.span)
        node = site.node if site is not None else None
        if isinstance(node, (ast.If, ast.While, ast.Assert)):
            node = node.test
        if not isinstance(node, ast.expr):
            missing.append(decision.key)
            continue
        wanted.setdefault(_position(node), []).append(decision.key)
        shape, parts = parts_of(node)
        if shape is not None and not any(_position(part.node) in compared for part in parts):
            recorder.shapes[decision.key] = shape
            compared |= {_position(p.node): (decision.key, number, p.sign) for number, p in enumerate(parts)}
    wrapped: ast.Module = _Wrapper(wanted, compared).visit(tree)  # type: ignore[assignment]
    try:
        recording_code = compile(wrapped, filename, "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return {}, [decision.key for decision in decisions]
    return dict(_pairs(plain, recording_code)), missing


_Position = tuple[int, int, int, int]


def _position(node: ast.expr) -> _Position:
    return node.lineno, node.col_offset, node.end_lineno or 0, node.end_col_offset or 0


class _Wrapper(ast.NodeTransformer):
    """`E` becomes `record(key, E)`, once for each key, at the outermost expression with its position.

    `a < b` inside it becomes `record.part(key, number, "<", a, b)`.
    """

    def __init__(self, wanted: dict[_Position, list[str]], compared: dict[_Position, tuple[str, int, str]]) -> None:
        self._wanted = wanted
        self._compared = compared

    def visit(self, node: ast.AST) -> ast.AST:
        keys: list[str] = []
        if isinstance(node, ast.expr) and isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
            keys = self._wanted.pop(_position(node), [])
        compared = self._compared.pop(_position(node), None) if isinstance(node, ast.Compare) else None
        visited: ast.AST = self.generic_visit(node)
        if compared is not None:
            assert isinstance(visited, ast.Compare)
            part = ast.Attribute(ast.Name(_RECORD, ast.Load()), "part", ast.Load())
            sides = [*(ast.Constant(value) for value in compared), visited.left, visited.comparators[0]]
            visited = ast.fix_missing_locations(ast.copy_location(ast.Call(part, sides, []), visited))
        for key in keys:
            assert isinstance(visited, ast.expr)
            call = ast.Call(ast.Name(_RECORD, ast.Load()), [ast.Constant(key), visited], [])
            visited = ast.copy_location(call, visited)
            ast.fix_missing_locations(visited)
        return visited


def _pairs(plain: CodeType, other: CodeType) -> Iterator[tuple[CodeType, CodeType]]:
    """Code objects nested alike, in two compilations of one text."""
    inner = [constant for constant in plain.co_consts if isinstance(constant, CodeType)]
    twins = [constant for constant in other.co_consts if isinstance(constant, CodeType)]
    for one, two in zip(inner, twins):
        yield one, two
        yield from _pairs(one, two)


def _swap(filename: str, codes: dict[CodeType, CodeType]) -> list[tuple[FunctionType, CodeType]]:
    """Put the recording code into every live function of the file; gives what to put back."""
    real = os.path.realpath(filename)
    changed = {old: new for old, new in codes.items() if old != new}
    swapped = []
    for candidate in live_functions({real}):
        code = candidate.__code__
        new = changed.get(code)
        if new is None:
            continue
        with contextlib.suppress(ValueError):  # another number of free variables
            candidate.__code__ = new
            swapped.append((candidate, code))
    return swapped
