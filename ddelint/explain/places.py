"""Where a frame of another machine stands here: in a file at hand, or in what the text quotes of it."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ddelint.explain.frames import RawFrame
from ddelint.explain.ownership import normal
from ddelint.nouns.diagnostics import Span
from ddelint.sources.source import SourceError, SourceFile

_CLOSERS = {"(": ")", "[": "]", "{": "}"}
_FARTHEST_MOVE = 200
"""Rows by which a line may have moved since the text was written."""


@dataclass(frozen=True, slots=True)
class Spot:
    """The blamed statement. `at_hand`: `source` is the file itself; otherwise it holds only what the text quotes."""

    source: SourceFile
    span: Span
    exact: bool
    """Whether `span` is the asking expression, as the interpreter underlined it."""
    at_hand: bool


class Places:
    """Finds the files of frames, each read once. `roots`: folders and files in which to look, this one first."""

    def __init__(self, paths: Sequence[str]) -> None:
        self._roots = [Path(path) for path in dict.fromkeys((*paths, "."))]
        self._files: dict[str, SourceFile | None] = {}

    def spot(self, frame: RawFrame) -> Spot | None:
        """Where `frame` asks; None where neither its file nor its source line is known."""
        for source in self._candidates(frame):
            row = _row_of(source, frame)
            if row is not None:
                return _spot(source, frame, row, at_hand=True)
        quoted = _quoted(frame)
        return None if quoted is None else _spot(quoted, frame, max(frame.line, 1), at_hand=False)

    def span(self, frame: RawFrame) -> Span:
        """The span of a frame's line: in the file at hand, else as the text quotes it."""
        spot = self.spot(frame)
        if spot is not None:
            return spot.span
        return Span(frame.filename, max(frame.line, 1), 1, max(frame.line, 1), 2 + len(frame.code.strip()))

    def _candidates(self, frame: RawFrame) -> Iterator[SourceFile]:
        """Files that may be the frame's: by its whole name, then by ever shorter ends of it under the roots."""
        if not frame.filename or frame.filename.startswith("<"):
            return
        path = os.path.expanduser(frame.filename)
        if os.path.isabs(path):
            yield from self._readable(Path(path))
        parts = [part for part in normal(path).split("/") if part not in ("", ".", "~") and not part.endswith(":")]
        for start in range(len(parts)):
            for root in self._roots:
                if root.is_file():
                    if normal(str(root.resolve())).endswith("/" + "/".join(parts[start:])):
                        yield from self._readable(root)
                    continue
                if ".." not in parts[start:]:
                    yield from self._readable(root.joinpath(*parts[start:]))

    def _readable(self, path: Path) -> Iterator[SourceFile]:
        name = os.path.realpath(path)
        if name not in self._files:
            self._files[name] = _read(name)
        source = self._files[name]
        if source is not None:
            yield source


def _read(name: str) -> SourceFile | None:
    try:
        if not os.path.isfile(name):
            return None
        source = SourceFile.read(Path(name))
        _ = source.tree
    except (OSError, SourceError, ValueError):
        return None
    return source


def _row_of(source: SourceFile, frame: RawFrame) -> int | None:
    """The row of the frame's line in a file; None where the file isn't the one, or has changed there."""
    code = frame.code.strip()
    rows = len(source.lines)
    if not code:
        return frame.line if 1 <= frame.line <= rows else None
    if 1 <= frame.line <= rows and _is_line(source.lines[frame.line - 1], code):
        return frame.line
    near = [
        row
        for row in range(max(1, frame.line - _FARTHEST_MOVE), min(rows, frame.line + _FARTHEST_MOVE) + 1)
        if _is_line(source.lines[row - 1], code)
    ]
    return near[0] if len(near) == 1 else None


def _is_line(line: str, code: str) -> bool:
    """Whether a line reads `code`: all of it, or as much as a shortened report shows; some reports add a colon."""
    text = line.strip()
    if code == text + ":":
        return True
    return text == code or (code.endswith("...") and len(code) > 12 and text.startswith(code[:-3]))


def _spot(source: SourceFile, frame: RawFrame, row: int, at_hand: bool) -> Spot:
    line = source.lines[row - 1].rstrip("\r\n") if row <= len(source.lines) else ""
    start = len(line) - len(line.lstrip())
    first, last, exact = start, len(line.rstrip()), False
    if frame.carets is not None and at_hand | (not frame.indented):
        first, last, exact = start + frame.carets[0], min(start + frame.carets[1], len(line)), True
        # some reports underline what follows the expression, too
        last = first + len(line[first:last].rstrip(" :,"))
    elif not frame.carets:
        statement = _statement(source, row)
        if statement is not None:
            return Spot(source, source.span(_part(statement, row)), False, at_hand)
    span = Span(source.filename, row, first + 1, row, max(last, first + 1) + 1)
    return Spot(source, span, exact, at_hand)


def _statement(source: SourceFile, row: int) -> ast.stmt | None:
    """The innermost statement that covers a row, of several that begin on one row the outermost."""
    best: ast.stmt | None = None
    for node in ast.walk(source.tree):
        if isinstance(node, ast.stmt) and node.lineno <= row <= (node.end_lineno or node.lineno):
            best = node if best is None or node.lineno > best.lineno else best
    return best


def _part(statement: ast.stmt, row: int) -> ast.expr | ast.stmt:
    """Of a statement that began on an earlier row, the largest expression that begins on this one."""
    if statement.lineno == row:
        return statement
    begun = [node for node in ast.walk(statement) if isinstance(node, ast.expr) and node.lineno == row]
    if not begun:
        return statement
    return max(begun, key=lambda node: (node.end_lineno or 0, node.end_col_offset or 0, -node.col_offset))


# ---------------------------------------------------------------------- what the text quotes


def _quoted(frame: RawFrame) -> SourceFile | None:
    """A file that holds only what the text quotes, on its own row; None where nothing of it parses."""
    filename, row = frame.filename or "<unknown>", max(frame.line, 1)
    for text, first in _stretches(frame, row):
        source = SourceFile(filename, "\n" * (first - 1) + text + "\n")
        try:
            _ = source.tree
        except SourceError:
            continue
        return source
    return None


def _stretches(frame: RawFrame, row: int) -> Iterator[tuple[str, int]]:
    """Pieces of source around the frame's line and the row they begin at, the longest first."""
    context = dict(frame.context)
    if frame.code:
        context.setdefault(row, frame.code)
    if row not in context:
        return
    indent = _indent(context[row])
    last = row
    while last + 1 in context and (not context[last + 1].strip() or _indent(context[last + 1]) > indent):
        last += 1
    for end in range(last, row, -1):
        yield _in_block([_without_else(context[row]), *(context[r] for r in range(row + 1, end + 1))], row)
    for line in _completed(context[row]):
        yield _in_block([line], row)


def _in_block(lines: Sequence[str], row: int) -> tuple[str, int]:
    """Indented lines need a block to stand in: one that begins a row above."""
    if not _indent(lines[0]):
        return "\n".join(lines), row
    if row == 1:
        return "if 1:" + "\n".join(lines).lstrip(), row
    return "\n".join(["if 1:", *lines]), row - 1


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _without_else(line: str) -> str:
    """`elif` is an `if` of its own here; columns stay."""
    return re.sub(r"^(\s*)elif\b", r"\1  if", line) if line.lstrip().startswith("elif") else line


def _completed(line: str) -> Iterator[str]:
    """A statement's first row, made whole."""
    line = _without_else(line.rstrip())
    yield line
    yield line + " _"
    head = line.rstrip().removesuffix(",").rstrip()
    closers = "".join(reversed([_CLOSERS[c] for c in _open_brackets(head)]))
    for joint in ("", "None"):
        yield head + joint + closers
        yield head + joint + closers + ": _"
    yield line.lstrip(")]} ").rstrip(":")


def _open_brackets(text: str) -> list[str]:
    waiting: list[str] = []
    for character in text:
        if character in "([{":
            waiting.append(character)
        elif character in ")]}" and waiting:
            waiting.pop()
    return waiting
