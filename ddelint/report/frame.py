"""The code frame of a finding: the lines that matter, with the exact columns underlined."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ddelint.report.style import Style, columns, width_of, words

if TYPE_CHECKING:
    from ddelint.nouns.diagnostics import Span

LONGEST_SPAN = 5
"""Rows of one underlined stretch that are shown in full; of a longer one the middle is left out."""


@dataclass(frozen=True, slots=True)
class Mark:
    """An underlined stretch of a file with an optional label; `asks` marks the finding itself."""

    span: Span
    label: str = ""
    asks: bool = False


def render(lines: Sequence[str], marks: Sequence[Mark], style: Style, color: str = "error") -> list[str]:
    """The rows of a frame over `lines` (a file's, without line ends) that shows `marks`.

    Rows that the file does not have are left out: it may have changed since.
    """
    rows = _rows(lines, marks)
    digits = max((len(str(row)) for row in rows), default=1)
    gutter = max(5, digits + 3)
    out: list[str] = []
    before = None
    for row in rows:
        if before is not None and row != before + 1:
            out.append(style.paint(" " * (gutter - 1) + "⋮", "gutter"))
        before = row
        start, marked = _window(lines, row, marks, style.width - gutter - 3)
        shown, starts = columns(lines[row - 1])
        out.append(
            style.paint(f"{row:>{gutter}} │", "gutter") + (" " + _cut(shown, start, style.width - gutter - 3)).rstrip()
        )
        for mark in marked:
            out += _underline(mark, row, lines, starts, start, gutter, style, color)
    return out


def _rows(lines: Sequence[str], marks: Sequence[Mark]) -> list[int]:
    rows: set[int] = set()
    for mark in marks:
        first, last = mark.span.row, max(mark.span.row, mark.span.end_row - (mark.span.end_column == 1))
        if last - first >= LONGEST_SPAN:
            rows |= {first, first + 1, last}
        else:
            rows |= set(range(first, last + 1))
        if mark.asks and last < len(lines) and lines[last - 1].rstrip().endswith(":") and lines[last].strip():
            rows.add(last + 1)  # what the question decides
    return sorted(row for row in rows if 1 <= row <= len(lines))


def _stretch(mark: Mark, row: int, lines: Sequence[str]) -> tuple[int, int]:
    """The columns of `mark` in `row`: from 0, end exclusive, in characters; empty where it has none there."""
    span, line = mark.span, lines[row - 1]
    if not span.row <= row <= span.end_row:
        return 0, 0
    first = span.column - 1 if row == span.row else len(line) - len(line.lstrip())
    last = span.end_column - 1 if row == span.end_row else len(line.rstrip())
    first = min(first, len(line))
    return first, max(min(last, len(line)), first + (span.row == span.end_row))


def _window(lines: Sequence[str], row: int, marks: Sequence[Mark], width: int) -> tuple[int, list[Mark]]:
    """The first column to show of a row, and the marks with a stretch in it, the question first."""
    marked = [mark for mark in marks if (stretch := _stretch(mark, row, lines))[0] < stretch[1]]
    marked.sort(key=lambda mark: (not mark.asks, mark.span))
    _, starts = columns(lines[row - 1])
    if starts[-1] <= width or not marked:
        return 0, marked
    first, last = _stretch(marked[0], row, lines)
    if starts[min(last, len(starts) - 1)] <= width:
        return 0, marked
    return max(0, starts[first] - width // 4), marked


def _cut(shown: str, start: int, width: int) -> str:
    """The part of a line from column `start` that fits into `width` columns, `…` where it goes on."""
    out, at = "", 0
    for character in shown:
        size = width_of(character)
        if at >= start and at + size <= start + width:
            out += character
        at += size
    if start:
        out = "…" + out[1:]
    if at > start + width and out:
        out = out[:-1] + "…"
    return out


def _underline(
    mark: Mark, row: int, lines: Sequence[str], starts: list[int], start: int, gutter: int, style: Style, color: str
) -> list[str]:
    room = style.width - gutter - 3
    first, last = _stretch(mark, row, lines)
    begin = max(starts[first] - start, 0)
    end = starts[last] - start if last < len(starts) else starts[-1] - start + 1
    end = min(max(end, begin + 1), room)
    if begin >= room:
        return []
    paint = color if mark.asks else "born"
    edge = style.paint(" " * gutter + " │", "gutter")
    line = " " * begin + style.paint(("━" if mark.asks else "─") * (end - begin), paint)
    label = mark.label if row == mark.span.row else ""
    if not label:
        return [f"{edge} {line}"]
    if end + 1 + width_of(label) <= room:
        return [f"{edge} {line} {style.paint(label, paint)}"]
    pieces = words(label, room)
    indent = max(0, min(begin, room - max(map(width_of, pieces))))
    return [f"{edge} {line}", *(f"{edge} {' ' * indent}{style.paint(piece, paint)}" for piece in pieces)]
