"""Colour, width and alphabet of the place that a report goes to."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TextIO

from ddelint.report.visible import visible, visible_line

if TYPE_CHECKING:
    from ddelint.nouns.diagnostics import Symbol


TAB = 4
"""Columns to the next tab stop in a code frame."""

HUGE = 2**62
PLAIN_WIDTH = 120
"""Columns of a pipe or file, and at most of a terminal."""

_SGR = {
    "bold": "1",
    "dim": "2",
    "path": "1",
    "error": "1;31",
    "warning": "1;33",
    "info": "1;36",
    "born": "36",
    "gutter": "2",
    "section": "1;34",
    "added": "32",
    "removed": "31",
    "good": "32",
    "bad": "31",
}
_ASCII = str.maketrans(
    {"│": "|", "━": "^", "─": "-", "⋮": ":", "≤": "<=", "·": ";", "…": "...", "×": "x", "→": "->", "←": "<-", "’": "'"}
)


@dataclass(frozen=True, slots=True)
class Style:
    """How to write: `color` (ANSI), `unicode` (or plain ASCII marks), `width` in columns, `verbose`."""

    color: bool = False
    unicode: bool = True
    width: int = PLAIN_WIDTH
    verbose: bool = False

    def paint(self, text: str, name: str) -> str:
        """`text` in the colours of `name`, or as it is where there are no colours."""
        return f"\x1b[{_SGR[name]}m{text}\x1b[0m" if self.color and text else text

    def line(self, text: str) -> str:
        """One line, whatever stands in it, in the alphabet at hand."""
        return self.spell(visible_line(text, self.color))

    def spell(self, text: str) -> str:
        """`text` in the alphabet at hand; ours and the user's characters that it lacks are replaced."""
        if self.unicode:
            return text
        return text.translate(_ASCII).encode("ascii", "backslashreplace").decode()


def width_of(text: str) -> int:
    """Columns that `text` takes on a terminal (no tabs in it)."""
    if text.isascii():
        return len(text)
    return sum(_width(character) for character in text)


def _width(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in {"Mn", "Me", "Cf"}:
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def columns(line: str) -> tuple[str, list[int]]:
    """A source line as shown (tabs expanded, control characters made visible), and where each character starts.

    The list has one entry more than the line has characters: the last is the width of the whole.
    """
    shown: list[str] = []
    starts: list[int] = []
    at = 0
    for character in line:
        starts.append(at)
        if character == "\t":
            piece = " " * (TAB - at % TAB)
        elif unicodedata.category(character) == "Cc":
            piece = "\N{REPLACEMENT CHARACTER}"
        else:
            piece = visible(character)
        shown.append(piece)
        at += width_of(piece)
    return "".join(shown), [*starts, at]


def wrapped(pieces: Sequence[str], width: int, joint: str) -> list[str]:
    """`pieces` joined by `joint`, broken behind a joint into lines of at most `width` columns.

    A piece that is longer by itself is broken between its words.
    """
    lines: list[str] = []
    line = ""
    for number, piece in enumerate(pieces):
        text = piece + joint if number + 1 < len(pieces) else piece
        if line and width_of(line + text.rstrip()) > width:
            lines.append(line.rstrip())
            line = ""
        line += text
        if joint != " " and width_of(line.rstrip()) > width:
            end = text[len(text.rstrip()) :]
            *whole, line = words(line, width)
            lines += whole
            line += end
    return [*lines, line.rstrip()]


def words(text: str, width: int) -> list[str]:
    """`text` broken between words into lines of at most `width` columns; a longer word stands alone."""
    return wrapped(text.split(" "), width, " ")


def bounds(symbol: Symbol) -> str:
    """`0 ≤ n ≤ 64`, or as much of it as is known.

    A limit that only says "fits an int64" counts as none, and 0 to 1 (a truth value) says nothing.
    """
    lower, upper = symbol.lower, symbol.upper
    if (lower, upper) == (0, 1):
        return ""
    low = f"{_number(lower)} ≤ " if lower is not None and lower > -HUGE else ""
    high = f" ≤ {_number(upper)}" if upper is not None and upper < HUGE else ""
    return f"{low}{symbol.name}{high}" if low or high else ""


def _number(value: int | float) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def for_stream(stream: TextIO | None, color: str, verbose: bool = False) -> Style:
    """The style of a stream (None: a file, plain and in UTF-8); `color` is auto, always or never.

    FORCE_COLOR and NO_COLOR decide where `color` is auto, then whether the stream is a terminal.
    """
    if stream is None:
        return Style(color == "always", True, PLAIN_WIDTH, verbose)
    terminal = stream.isatty()
    if color == "auto":
        painted = terminal and os.environ.get("TERM") != "dumb"
        if os.environ.get("NO_COLOR"):
            painted = False
        elif os.environ.get("FORCE_COLOR"):
            painted = True
    else:
        painted = color == "always"
    return Style(painted, _can_spell(stream), _columns() if terminal else PLAIN_WIDTH, verbose)


def _columns() -> int:
    import shutil  # slow to load

    return max(min(shutil.get_terminal_size((PLAIN_WIDTH, 24)).columns, PLAIN_WIDTH), 40)


def _can_spell(stream: TextIO) -> bool:
    try:
        "│━─⋮≤·…→".encode(stream.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
