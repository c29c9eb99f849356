"""A pasted text, line for line, without what terminals, loggers, launchers and Markdown put around it."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ddelint.explain.texts import texts

_ESCAPES = re.compile(
    r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[()][A-Z0-9]|[\x00-\x08\x0b-\x1a\x1c-\x1f]"
)
_LOST_ESCAPES = re.compile(r"(?<![\w\])])\[(?:\d{1,2};)*\d{1,2}m")
"""What stays of a colour code where the paste has lost its escape character."""
_QUOTE = re.compile(r"(?:> ?)+(?=\S)|(?:> )+(?= )|>$")
_BOX = "│|┃║"
_PYTEST_ERROR = re.compile(r"E   (?=\S|  )")
_TYPOGRAPHY = str.maketrans(
    {"\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"', "\u00a0": " ", "\u200b": None, "\ufeff": None}
)
"""What forums make of quotation marks and spaces."""
_PROCESS = re.compile(r"(?:\s*\[[A-Za-z_ ]+\d+\]:?)+|\s*\[\d+,\d+\]<\w+>|\s*\(\w+ [^()]{0,200}pid=\d++[^()]{0,200}\)")
_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?")
_LINE_END = re.compile(r"\r\n|\n|\r")
_NOT_TEXT = 0.05
"""Share of characters that no text holds, from which on a file is binary."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line. `row` counts from 1 in what was pasted; `header` is the logger's prefix that was taken off.

    The lines of one log record share their header; a clock's time is not in it, since services stamp each line.
    """

    row: int
    text: str
    header: str = ""


class NotText(ValueError):
    """Bytes that are no text."""


def decode(data: bytes) -> str:
    """The text of a file: UTF-8, or UTF-16 with its mark; what does not fit is replaced. Raises NotText."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", errors="replace")
    text = data.decode("utf-8-sig", errors="replace")
    head = text[:65536]
    strange = sum(character in "\ufffd\0" for character in head)
    if "\0" in head or strange > _NOT_TEXT * len(head):
        raise NotText("not a text")
    return text


def unwrapped(text: str) -> str:
    """The text inside a notebook, a JSON string or an HTML page; the text itself where it is none of these."""
    stripped = text.lstrip()
    if stripped.startswith("{") and '"cells"' in text and '"outputs"' in text:
        notebook = _notebook(text)
        if notebook is not None:
            return notebook
    if r"\n  File \"" in text:  # a log of JSON records
        text = text.replace(r"\r\n", "\n").replace(r"\n", "\n").replace(r"\t", "\t").replace(r"\"", '"')
        text = text.replace(r"\u001b", "\x1b").replace(r"\\", "\\")
    if "File &quot;" in text or "-&gt; " in text:
        text = html.unescape(text)
    return text


def rows(text: str) -> list[str]:
    """The lines of a text without their ends, as `clean` counts them."""
    return _LINE_END.split(text)


def clean(text: str) -> list[Line]:
    """The lines of `text`, each cleaned, in their order and number."""
    lines = []
    quoted = _mostly_quoted(text)
    for row, raw in enumerate(rows(text.translate(_TYPOGRAPHY) if not text.isascii() else text), start=1):
        line = _LOST_ESCAPES.sub("", _ESCAPES.sub("", raw)) if "\x1b" in raw or "m" in raw else _ESCAPES.sub("", raw)
        if quoted:
            line = _QUOTE.sub("", line, count=1)
        line, header = _without_prefixes(line)
        if line[:1] in "│┃║" and line[:1]:
            line = line[1:].removeprefix(" ").removesuffix(line[-1] if line[-1] in _BOX else "").rstrip()
        line = _PYTEST_ERROR.sub("", line, count=1) if line.startswith("E   ") else line
        lines.append(Line(row, line.rstrip(), header))
    return lines


def streams(lines: Sequence[Line]) -> list[list[Line]]:
    """The lines of each process by itself, where several wrote into one text and a launcher marked whose is whose."""
    found: dict[str, list[Line]] = {}
    for line in lines:
        match = _PROCESS.match(line.header)
        found.setdefault(match[0] if match is not None else "", []).append(line)
    return list(found.values())


def _without_prefixes(line: str) -> tuple[str, str]:
    prefix = texts().prefix
    at = 0
    start = len(line) - len(line.lstrip())
    match = prefix.match(line, start)
    while match is not None and match.end() > at:
        at = match.end()
        match = prefix.match(line, at)
    return line[at:], _TIME.sub("", line[:at]).rstrip()


def _mostly_quoted(text: str) -> bool:
    lines = [line for line in text.splitlines() if line.strip()]
    return bool(lines) and sum(line.startswith(">") for line in lines) > len(lines) / 2


def _notebook(text: str) -> str | None:
    """What the cells of a notebook printed and raised, in their order."""
    try:
        notebook = json.loads(text)
        return "\n".join(_printed(notebook))
    except (ValueError, TypeError, AttributeError, KeyError):
        return None


def _printed(notebook: Any) -> Iterator[str]:
    for cell in notebook.get("cells", ()):
        for output in cell.get("outputs", ()):
            if output.get("output_type") == "error":
                yield "\n".join(output.get("traceback", ()))
            for printed in (output.get("text"), (output.get("data") or {}).get("text/plain")):
                if printed:
                    yield printed if isinstance(printed, str) else "".join(printed)
