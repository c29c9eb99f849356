"""Lines of a file as stretches of text, each with the classes that colour it and the findings that it belongs to."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pygments.lexers.python import PythonLexer
from pygments.token import STANDARD_TYPES, _TokenType

from ddelint.nouns.diagnostics import Span


@dataclass(frozen=True, slots=True)
class Mark:
    """A stretch of the file that a finding is about: `kind` is `asks` or `born`."""

    span: Span
    kind: str
    finding: int


@dataclass(frozen=True, slots=True)
class Piece:
    """Text of one line that is painted alike."""

    text: str
    classes: str
    findings: tuple[int, ...] = ()


def painted(lines: Sequence[str], marks: Iterable[Mark]) -> list[list[Piece]]:
    """Each line (given without its end) in pieces; a line without text has none."""
    colors = _colors(lines)
    marked: dict[int, list[tuple[int, int, Mark]]] = {}
    for mark in marks:
        for row in range(max(mark.span.row, 1), min(mark.span.end_row, len(lines)) + 1):
            line = lines[row - 1]
            first = mark.span.column - 1 if row == mark.span.row else len(line) - len(line.lstrip())
            last = mark.span.end_column - 1 if row == mark.span.end_row else len(line)
            if first < last:
                marked.setdefault(row, []).append((first, min(last, len(line)), mark))
    return [_pieces(line, colors[row - 1], marked.get(row, [])) for row, line in enumerate(lines, 1)]


def _pieces(line: str, colors: list[tuple[int, int, str]], marks: list[tuple[int, int, Mark]]) -> list[Piece]:
    cuts = sorted({0, len(line), *(at for first, last, _ in (*colors, *marks) for at in (first, last))})
    pieces = []
    for first, last in itertools.pairwise(cuts):
        if first >= len(line):
            break
        names = [name for begin, end, name in colors if begin <= first < end]
        here = [mark for begin, end, mark in marks if begin <= first < end]
        kinds = sorted({mark.kind for mark in here})
        findings = tuple(dict.fromkeys(mark.finding for mark in sorted(here, key=lambda mark: mark.kind)))
        pieces.append(Piece(line[first:last], " ".join((*names, *kinds)), findings))
    return pieces


def _colors(lines: Sequence[str]) -> list[list[tuple[int, int, str]]]:
    """For each line the stretches that are coloured: first and last column (from 0, the last exclusive), class."""
    found: list[list[tuple[int, int, str]]] = [[] for _ in lines]
    row, column = 0, 0
    for _, kind, text in PythonLexer(stripnl=False, ensurenl=False).get_tokens_unprocessed("\n".join(lines)):
        name = _class(kind)
        for number, part in enumerate(text.split("\n")):
            if number:
                row, column = row + 1, 0
            if part and name and row < len(found):
                found[row].append((column, column + len(part), name))
            column += len(part)
    return found


def _class(kind: _TokenType) -> str:
    """The short name of a token's type, of the few that are coloured: `k` keywords, `s` strings, `c` comments, …"""
    short = STANDARD_TYPES.get(kind, "")
    if short in {"nf", "nc", "nd", "fm"}:
        return "f"
    return short[:1] if short[:1] in {"k", "s", "c", "m"} else ""
