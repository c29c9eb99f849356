"""What went wrong in a fork, as an EntryFailure: the user's traceback without ours, and the place to show."""

from __future__ import annotations

import linecache
import os
import re
import traceback
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from ddelint.nouns.diagnostics import Span
from ddelint.nouns.protocol import EntryFailure
from ddelint.trace.isolation import Death

_OURS = str(Path(__file__).resolve().parent.parent) + os.sep
_LONGEST_MESSAGE = 2000
_DUMPED_FRAME = re.compile(r'^[ \t]*File "(?P<filename>[^"\n]+)", line (?P<row>\d+)', re.MULTILINE)


def inside(filename: str, paths: Sequence[str]) -> bool:
    """Whether a file is one of `paths` or lies in one of them (all absolute)."""
    return any(filename == path or filename.startswith(path.rstrip(os.sep) + os.sep) for path in paths)


def from_exception(error: BaseException, paths: Sequence[str], entry_filename: str) -> EntryFailure:
    """A failure of the user's code: kind `raised`, or `exit` and `memory` for what stands for these."""
    kind, message = "raised", _message(error)
    if isinstance(error, SystemExit):
        kind, message = "exit", f"called sys.exit({'' if error.code is None else repr(error.code)})"
    elif isinstance(error, MemoryError):
        kind = "memory"
    span = _syntax_error_span(error, (*paths, entry_filename)) or _span(error, paths, entry_filename)
    return EntryFailure(kind, message, span, user_traceback(error))


def internal(error: BaseException) -> EntryFailure:
    """A failure of ddelint itself; nothing is hidden from its traceback."""
    text = "".join(traceback.format_exception(error))
    return EntryFailure("internal", f"ddelint failed: {_message(error)}", None, text)


def from_death(death: Death, paths: Sequence[str], entry_filename: str) -> EntryFailure:
    """A process that ended without an answer; the place comes from the frames it left on stderr."""
    span = None
    frames = [(m["filename"], int(m["row"])) for m in _DUMPED_FRAME.finditer(death.output)]
    for wanted in (tuple(paths), (entry_filename,)):
        place = next(((name, row) for name, row in frames if inside(name, wanted)), None)
        if place is not None:
            span = line_span(*place)
            break
    return EntryFailure(death.kind, death.message, span, _without_our_frames(death.output).strip())


def user_traceback(error: BaseException) -> str:
    """The traceback as Python prints it, without the frames of ddelint."""
    return "".join(_stripped(traceback.TracebackException.from_exception(error)).format())


def line_span(filename: str, row: int) -> Span:
    """The text on one line, without its indentation; one column where the file cannot be read."""
    line = linecache.getline(filename, row)
    text = line.strip()
    start = len(line) - len(line.lstrip()) + 1 if text else 1
    return Span(filename, row, start, row, start + max(1, len(text)))


def _message(error: BaseException) -> str:
    try:
        text = str(error)
    except Exception:
        text = ""
    name = type(error).__qualname__
    return f"{name}: {text}"[:_LONGEST_MESSAGE] if text else name


def _stripped(shown: traceback.TracebackException) -> traceback.TracebackException:
    seen: set[int] = set()
    waiting: list[traceback.TracebackException | None] = [shown]
    while waiting:
        current = waiting.pop()
        if current is None or id(current) in seen:
            continue
        seen.add(id(current))
        kept = [frame for frame in current.stack if not _is_ours(frame.filename)]
        # leading import machinery means nothing to the user
        while kept and kept[0].filename.startswith("<frozen importlib"):
            kept.pop(0)
        current.stack = traceback.StackSummary.from_list(kept)
        waiting += [current.__cause__, current.__context__, *(getattr(current, "exceptions", None) or ())]
    return shown


def _is_ours(filename: str) -> bool:
    return filename.startswith(_OURS)


def _without_our_frames(output: str) -> str:
    """What a crashed process left, without ddelint's frames and faulthandler's list of extension modules."""
    hidden = (f'File "{_OURS}', 'File "<string>"', "Extension modules: ")
    return "\n".join(line for line in output.splitlines() if not line.strip().startswith(hidden))


def _span(error: BaseException, paths: Sequence[str], entry_filename: str) -> Span | None:
    for wanted in (tuple(paths), (entry_filename,)):
        found = None
        step: TracebackType | None = error.__traceback__
        while step is not None:
            filename = step.tb_frame.f_code.co_filename
            if inside(os.path.abspath(filename), wanted) and not _is_ours(filename):
                found = _position(step)
            step = step.tb_next
        if found is not None:
            return found
    return None


def _position(step: TracebackType) -> Span:
    filename = step.tb_frame.f_code.co_filename
    positions = list(step.tb_frame.f_code.co_positions())
    index = step.tb_lasti // 2
    if 0 <= index < len(positions):
        row, end_row, column, end_column = positions[index]
        if row is not None and end_row is not None and column is not None and end_column is not None:
            return Span(
                filename, row, _characters(filename, row, column), end_row, _characters(filename, end_row, end_column)
            )
    return line_span(filename, step.tb_lineno)


def _characters(filename: str, row: int, byte_offset: int) -> int:
    """A column counted in characters from 1, from an offset counted in UTF-8 bytes from 0."""
    line = linecache.getline(filename, row)
    return len(line.encode()[:byte_offset].decode(errors="replace")) + 1 if line else byte_offset + 1


def _syntax_error_span(error: BaseException, wanted: Sequence[str]) -> Span | None:
    if not isinstance(error, SyntaxError) or error.filename is None or not inside(error.filename, wanted):
        return None
    row, column = error.lineno or 1, error.offset or 1
    end_row, end_column = error.end_lineno or row, error.end_offset or column + 1
    if (end_row, end_column) <= (row, column):
        end_row, end_column = row, column + 1
    return Span(error.filename, row, column, end_row, end_column)
