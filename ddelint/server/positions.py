"""Our places (rows and columns in characters, from 1) in an editor's units (from 0, by default UTF-16), and back."""

from __future__ import annotations

from collections.abc import Sequence

from lsprotocol import types

from ddelint.nouns.diagnostics import Span

UTF16 = types.PositionEncodingKind.Utf16.value
_BYTES = {types.PositionEncodingKind.Utf8.value: ("utf-8", 1), UTF16: ("utf-16-le", 2)}


def units(text: str, encoding: str = UTF16) -> int:
    """The length of a text as the editor counts."""
    if text.isascii() or encoding not in _BYTES:
        return len(text)
    codec, size = _BYTES[encoding]
    return len(text.encode(codec, "surrogatepass")) // size


def position(lines: Sequence[str], row: int, column: int, encoding: str) -> types.Position:
    """A place in a text given by its lines; one behind the end of the text is its end."""
    line = lines[row - 1] if 0 < row <= len(lines) else ""
    return types.Position(row - 1, units(line[: column - 1], encoding))


def range_of(span: Span, lines: Sequence[str], encoding: str) -> types.Range:
    """A span in a text given by its lines."""
    start = position(lines, span.row, span.column, encoding)
    return types.Range(start, position(lines, span.end_row, span.end_column, encoding))


def overlap(one: types.Range, other: types.Range) -> bool:
    """Whether two ranges share a place, their ends included: a cursor at a word's end is at the word."""
    return _key(one.start) <= _key(other.end) and _key(other.start) <= _key(one.end)


def _key(at: types.Position) -> tuple[int, int]:
    return at.line, at.character
