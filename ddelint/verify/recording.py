"""Which side of a decision is taken: its expression is wrapped in the live functions, and unwrapped at the end."""

from __future__ import annotations

import ast
import builtins
import contextlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

from ddelint.nouns.protocol import Decision
from ddelint.sources.sites import locate
from ddelint.sources.source import SourceError, SourceFile
from ddelint.trace import overlay
from ddelint.verify.around_decisions import asked_about, classes_around, texts_of
from ddelint.verify.distances import COMPARE, Shape, difference, distance, parts_of
from ddelint.verify.meeting import Block, Meetings, block_of
from ddelint.verify.named_numbers import numbers_named

RECORD = "__ddelint_record__"


class Recorder:
    """The sides taken since the last `take`."""

    def __init__(self) -> None:
        self._seen: dict[str, set[bool]] = {}
        self._nearest: dict[tuple[str, bool], float] = {}
        self._differences: dict[str, dict[int, tuple[str, Any]]] = {}
        self.meetings = Meetings()
        self.blocks: dict[str, Block] = {}
        """What is kept where the sides of a decision meet, for those of which the compiled side is known."""
        self._forced: dict[str, bool] = {}
        self.shapes: dict[str, Shape] = {}
        """How each decision's test is built of comparisons, where it is."""
        self.texts: dict[str, list[str | int]] = {}
        """Texts and integers that classes with decisions compare an attribute of `self` with, and files a name."""
        self.numbers: dict[int | float, None] = {}
        """Numbers that stand in the functions around decisions, those of comparisons first."""
        self.classes: dict[str, None] = {}
        """The classes around decisions; for one in a function that stands in none, all of its file."""
        self.trees: dict[str, ast.Module] = {}
        """The texts of files with decisions, as trees whose code notes these."""
        self.tested: dict[str, set[Position]] = {}
        """Where in these texts the tests of decisions stand, and what the names in them were given."""
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
        return self._forced.get(key, value)

    @contextlib.contextmanager
    def forced(self, key: str, side: bool) -> Iterator[None]:
        """Within, the decision `key` goes to `side` whatever its test says."""
        self._forced[key] = side
        try:
            yield
        finally:
            del self._forced[key]

    def meet(self, key: str, values: Mapping[str, Any]) -> None:
        """Both sides of a decision come here; `values` are the local ones."""
        self.meetings.note(key, values, self.blocks[key].names)

    def leave(self, key: str, value: Any) -> Any:
        """A function with a decision that may return returns `value`; gives it back."""
        self.meetings.note_returned(key, value)
        return value


@contextlib.contextmanager
def recording(decisions: Sequence[Decision]) -> Iterator[Recorder]:
    """Wrap each decision's expression in the functions that are alive; unwrap them at the end.

    The spans are on the text on disk, from which the original was loaded. Decisions that are not found there, or whose
    function is not alive, are named in the recorder's `missing`.
    """
    recorder = Recorder()
    missing: list[str] = []
    with reports_to(recorder) as replace:
        for filename, group in by_file(decisions).items():
            codes, lost = _instrumented(filename, group, recorder)
            missing += lost
            replace(filename, codes)
        recorder.missing = tuple(missing)
        yield recorder


@contextlib.contextmanager
def reports_to(recorder: Recorder) -> Iterator[Callable[[str, dict[CodeType, CodeType]], None]]:
    """Within, instrumented code reports to `recorder`. Gives what puts such code into a file's live functions.

    At the end all functions have the code again that they had.
    """
    swapped: list[tuple[FunctionType, CodeType]] = []
    setattr(builtins, RECORD, recorder)
    try:
        yield lambda filename, codes: swapped.extend(_swap([filename], codes))
    finally:
        for function, code in swapped:
            function.__code__ = code
        delattr(builtins, RECORD)


def by_file(decisions: Iterable[Decision]) -> dict[str, list[Decision]]:
    """The decisions of each file."""
    found: dict[str, list[Decision]] = {}
    for decision in decisions:
        found.setdefault(decision.span.filename, []).append(decision)
    return found


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
    wanted: dict[Position, list[str]] = {}
    compared: dict[Position, tuple[str, int, str]] = {}
    missing = []
    tests: list[ast.expr] = []
    meeting: dict[Position, str] = {}
    for decision in decisions:
        site = locate(source, decision.span)
        node = site.node if site is not None else None
        if isinstance(node, (ast.If, ast.While, ast.Assert)):
            node = node.test
        if not isinstance(node, ast.expr):
            missing.append(decision.key)
            continue
        wanted.setdefault(position_of(node), []).append(decision.key)
        recorder.numbers |= dict.fromkeys(numbers_named(source, node))
        tests.append(node)
        recorder.tested.setdefault(filename, set()).update(map(position_of, asked_about(source, node)))
        recorder.classes |= dict.fromkeys(classes_around(source, node))
        statement = site.statement if site is not None else None
        if decision.compiled is not None and isinstance(statement, ast.If) and statement.test is node:
            function = site.function if site is not None else None
            loops = any(isinstance(parent, (ast.For, ast.While)) for parent in source.ancestors(statement))
            recorder.blocks[decision.key] = block_of(statement, function or source.tree, loops)
            meeting[position_of(node)] = decision.key
        shape, parts = parts_of(node)
        if shape is not None and not any(position_of(part.node) in compared for part in parts):
            recorder.shapes[decision.key] = shape
            compared |= {position_of(p.node): (decision.key, number, p.sign) for number, p in enumerate(parts)}
    for name, text in texts_of(source, tests):
        recorder.texts.setdefault(name, []).append(text)
    Meeting(meeting).visit(tree)
    wrapped: ast.Module = _Wrapper(wanted, compared).visit(tree)  # type: ignore[assignment]
    recorder.trees[filename] = wrapped
    try:
        recording_code = compile(wrapped, filename, "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return {}, [decision.key for decision in decisions]
    return dict(pairs_of(plain, recording_code)), missing


Position = tuple[int, int, int, int]
"""Where an expression stands: first and last row and column, as `ast` counts them."""


def position_of(node: ast.expr) -> Position:
    """Where `node` stands."""
    return node.lineno, node.col_offset, node.end_lineno or 0, node.end_col_offset or 0


class Meeting(ast.NodeTransformer):
    """`record.meet(key, locals())` behind an `if`; where an arm returns, each `return E` of its function notes E."""

    def __init__(self, wanted: dict[Position, str]) -> None:
        self._wanted = wanted
        self._returning: list[list[str]] = []

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """A function: its decisions with an arm that returns."""
        self._returning.append(
            [
                self._wanted[position_of(inner.test)]
                for inner in _own_nodes(node)
                if isinstance(inner, ast.If)
                and position_of(inner.test) in self._wanted
                and any(isinstance(part, ast.Return) for part in ast.walk(inner))
            ]
        )
        visited = self.generic_visit(node)
        self._returning.pop()
        return visited

    visit_AsyncFunctionDef = visit_FunctionDef  # type: ignore[assignment]

    def visit_Return(self, node: ast.Return) -> ast.AST:
        """The value is noted for each of the function's decisions that may return."""
        for key in self._returning[-1] if self._returning else ():
            value = node.value if node.value is not None else ast.Constant(None)
            node.value = _call("leave", ast.Constant(key), value, at=node)
        return node

    def visit_If(self, node: ast.If) -> Any:
        """The statement, and its meeting place behind it."""
        key = self._wanted.get(position_of(node.test))
        self.generic_visit(node)
        if key is None or (self._returning and key in self._returning[-1]):
            return node
        values = ast.Call(ast.Name("locals", ast.Load()), [], [])
        meet = ast.Expr(_call("meet", ast.Constant(key), values, at=node))
        return [node, ast.fix_missing_locations(ast.copy_location(meet, node))]


def _own_nodes(function: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a function without those of functions inside it."""
    for child in ast.iter_child_nodes(function):
        if not isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            yield child
            yield from _own_nodes(child)


def _call(method: str, *arguments: ast.expr, at: ast.stmt) -> ast.expr:
    function = ast.Attribute(ast.Name(RECORD, ast.Load()), method, ast.Load())
    return ast.fix_missing_locations(ast.copy_location(ast.Call(function, list(arguments), []), at))


class _Wrapper(ast.NodeTransformer):
    """`E` becomes `record(key, E)`, once for each key, at the outermost expression with its position.

    `a < b` inside it becomes `record.part(key, number, "<", a, b)`.
    """

    def __init__(self, wanted: dict[Position, list[str]], compared: dict[Position, tuple[str, int, str]]) -> None:
        self._wanted = wanted
        self._compared = compared

    def visit(self, node: ast.AST) -> ast.AST:
        keys: list[str] = []
        if isinstance(node, ast.expr) and isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
            keys = self._wanted.pop(position_of(node), [])
        compared = self._compared.pop(position_of(node), None) if isinstance(node, ast.Compare) else None
        visited: ast.AST = self.generic_visit(node)
        if compared is not None:
            assert isinstance(visited, ast.Compare)
            part = ast.Attribute(ast.Name(RECORD, ast.Load()), "part", ast.Load())
            sides = [*(ast.Constant(value) for value in compared), visited.left, visited.comparators[0]]
            visited = ast.fix_missing_locations(ast.copy_location(ast.Call(part, sides, []), visited))
        for key in keys:
            assert isinstance(visited, ast.expr)
            call = ast.Call(ast.Name(RECORD, ast.Load()), [ast.Constant(key), visited], [])
            visited = ast.copy_location(call, visited)
            ast.fix_missing_locations(visited)
        return visited


def pairs_of(plain: CodeType, other: CodeType) -> Iterator[tuple[CodeType, CodeType]]:
    """Code objects nested alike, in two compilations of one text."""
    inner = [constant for constant in plain.co_consts if isinstance(constant, CodeType)]
    twins = [constant for constant in other.co_consts if isinstance(constant, CodeType)]
    for one, two in zip(inner, twins):
        yield one, two
        yield from pairs_of(one, two)


@contextlib.contextmanager
def swapped(filenames: Iterable[str], codes: dict[CodeType, CodeType]) -> Iterator[None]:
    """Within, the live functions of some files have other code."""
    changed = _swap(filenames, codes)
    try:
        yield
    finally:
        for function, code in changed:
            function.__code__ = code


def _swap(filenames: Iterable[str], codes: dict[CodeType, CodeType]) -> list[tuple[FunctionType, CodeType]]:
    """Put other code into every live function of some files; gives what to put back."""
    changed = {old: new for old, new in codes.items() if old != new}
    swapped = []
    for candidate in overlay.live_functions(set(map(os.path.realpath, filenames))):
        code = candidate.__code__
        new = changed.get(code)
        if new is None:
            continue
        with contextlib.suppress(ValueError):  # another number of free variables
            candidate.__code__ = new
            swapped.append((candidate, code))
    return swapped
