"""Frames of a stack, as Python, IPython, pytest, rich and torch's own reports print them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from ddelint.explain.cleaning import Line
from ddelint.explain.texts import texts

_PYTHON = re.compile(
    r'^(?P<indent>\s*(?:-\s+)?)(?:# )?File:? "?(?P<file>[^"\n]+?)"?, line(?:no)? (?P<line>\d+)'
    r"(?:, in (?P<function>[^\n,]+))?(?:, code: (?P<code>.*))?$"
)
_COMMENT = re.compile(r"^\s*# File: (?P<file>.{1,1000}?):(?P<line>\d+) in (?P<function>\S+)(?:, code: (?P<code>.*))?$")
_IPYTHON = re.compile(
    r"^(?:File )?(?P<file>(?:[~/.\w]|[A-Za-z]:\\)[^\n]{0,1000}?):(?P<line>\d+)"
    r",? in (?P<function>[\w.<>]++)(?P<rest>\(.*)?$"
)
_CELL = re.compile(r"^(?:Cell )?In ?\[(?P<cell>\d+)\], line (?P<line>\d+)(?:, in (?P<function>[\w.<>]++).*)?$")
_INPUT = re.compile(r"^Input In \[(?P<cell>\d+)\], in (?P<function><cell line: \d+>|[\w.<>]+)(?:\(.*)?$")
_OLD_IPYTHON = re.compile(r"^(?P<file>(?:~?/|[A-Za-z]:\\|<ipython-input-)\S*) in (?P<function>[\w.<>]+)\(.*\)$")
_PYTEST = re.compile(r"^(?P<file>[^\s:\"'(]+\.py):(?P<line>\d+):(?: in (?P<function>\S+)| ?$)")
_NUMBERED = re.compile(r"^\s*+(?:(?P<arrow>-+>|❱)\s*+)?(?P<row>\d+)(?: (?P<code>.*))?$")
_RICH = re.compile(r"^\s*(?P<file>(?:/|[A-Za-z]:\\|\.)\S*\.py):(?P<line>\d+) in (?P<function>\S+)\s*$")
_ERROR = re.compile(r"(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?::|$)|(?:The above|During handling|Set TORCH|You can suppress)\b")
_CARETS = re.compile(r"^\s*[~^][~^ ]*$")
_PYTEST_ARROW = re.compile(r"^>( +)(?P<code>\S.*)$")
_LOCATION = re.compile(
    r"(?:^|\s|\()(?P<file>[^\s()]{1,1000}\.py|<[^>]{1,1000}>):(?P<line>\d+) in (?P<function>[\w.<>]+)"
)
_FARTHEST_CONTEXT = 12
_FARTHEST_TEST_FRAME = 200


@dataclass(frozen=True, slots=True)
class RawFrame:
    """One frame as the text has it.

    `code` is its line of source (stripped unless `indented`), `carets` the columns in `code` (from 0, end exclusive)
    that the interpreter underlined, `context` further lines of the file by row, as they stand in it.
    """

    filename: str
    line: int
    function: str = ""
    code: str = ""
    carets: tuple[int, int] | None = None
    indented: bool = False
    context: dict[int, str] = field(default_factory=dict)
    row: int = 0
    """Where the frame stands in the pasted text, and over how many lines."""
    height: int = 1


@dataclass(slots=True)
class Stack:
    """Frames in a row, outermost first. `role` is one of texts.ROLES, or `graph` for a comment in a printed graph;
    `symbol` whose birth it is, where it is one."""

    role: str
    first: int
    """Row of the line that introduces it."""
    last: int
    header: str = ""
    symbol: str = ""
    frames: list[RawFrame] = field(default_factory=list)


def stacks(lines: Sequence[Line]) -> list[Stack]:
    """All stacks of a text in their order; those without frames are left out."""
    found: list[Stack] = []
    current: Stack | None = None
    tested: Stack | None = None
    at = 0
    while at < len(lines):
        line = lines[at]
        section = _section(line)
        if section is not None:
            role, symbol = section
            current = Stack(role, line.row, line.row, line.header, symbol)
            found.append(current)
            at += 1
            continue
        frame, used = _frame(lines, at)
        if frame is None:
            if current is not None and current.frames and _ends(line):
                current = None
            at += 1
            continue
        if line.text.lstrip().startswith("#"):  # a graph's comment says where a node came from
            found.append(Stack("graph", line.row, line.row, line.header, frames=[frame]))
            at += used
            continue
        if current is None or (current.frames and line.header != current.header and line.header):
            current = Stack("whole", line.row, line.row, line.header)
            found.append(current)
        if ".py:" in line.text and _PYTEST.match(line.text):  # between pytest's frames stand pages of source
            if tested is not None and line.row - tested.last <= _FARTHEST_TEST_FRAME and not current.frames:
                found.remove(current)
                current = tested
            tested = current
        current.frames.append(frame)
        current.last = lines[min(at + used, len(lines)) - 1].row
        at += used
    return [stack for stack in found if stack.frames]


def location(text: str) -> RawFrame | None:
    """The first `path.py:12 in f` of a line; a code comment in front of it (`if n > 4:  # …`) is its source."""
    match = _LOCATION.search(text)
    if match is None:
        return None
    before, mark, _ = text[: match.start("file")].rpartition(" # ")
    code = before.strip() if mark else ""
    return RawFrame(match["file"], int(match["line"]), match["function"], code)


def locations(text: str) -> list[RawFrame]:
    """Every `path.py:12 in f` of a line."""
    first = location(text)
    rest = [RawFrame(m["file"], int(m["line"]), m["function"]) for m in _LOCATION.finditer(text)]
    return rest if first is None else [first, *rest[1:]]


def _section(line: Line) -> tuple[str, str] | None:
    if ":" not in line.text and "(" not in line.text and "culprit" not in line.text and "trace" not in line.text:
        return None
    for section in texts().sections:
        match = section.pattern.match(line.text)
        if match is not None:
            return section.role, match.groupdict().get("symbol") or ""
    return None


def _ends(line: Line) -> bool:
    """Whether a line without a frame ends the stack before it: the exception's own line does, a gap doesn't."""
    text = line.text
    return bool(text) and not text[0].isspace() and not text.startswith(("...", "---", "[Previous", "(snipped", "- "))


def _frame(lines: Sequence[Line], at: int) -> tuple[RawFrame | None, int]:
    """The frame that begins at `at` and how many lines it takes; (None, 0) where none does."""
    line = lines[at]
    text = line.text
    if "line" in text or "File" in text:
        match = _PYTHON.match(text) or _COMMENT.match(text)
        if match is not None:
            return _python_frame(lines, at, match)
    if "In" in text and "]" in text:
        match = _CELL.match(text)
        if match is not None:
            return _numbered_frame(lines, at, f"<cell {match['cell']}>", int(match["line"]), match["function"] or "")
        match = _INPUT.match(text)
        if match is not None:
            return _numbered_frame(lines, at, f"<cell {match['cell']}>", 0, match["function"])
    if " in " in text:
        match = _COMMENT.match(text) or _IPYTHON.match(text) or _RICH.match(text)
        if match is not None:
            return _numbered_frame(lines, at, match["file"], int(match["line"]), match["function"])
        match = _OLD_IPYTHON.match(text)
        if match is not None:
            return _numbered_frame(lines, at, match["file"], 0, match["function"])
    if ".py:" in text:
        match = _PYTEST.match(text)
        if match is not None:
            return _pytest_frame(lines, at, match)
    return None, 0


def _python_frame(lines: Sequence[Line], at: int, match: re.Match[str]) -> tuple[RawFrame, int]:
    groups = match.groupdict()
    filename, row, function = match["file"], int(match["line"]), (groups.get("function") or "").strip()
    if groups.get("code"):
        return RawFrame(filename, row, function, groups["code"].strip(), row=lines[at].row), 1
    indent = len(match.groupdict().get("indent") or "")
    code, carets, used = "", None, 1
    following = lines[at + 1] if at + 1 < len(lines) else None
    if following is not None and _is_code(following, lines[at], indent):
        code = following.text.strip().removeprefix("- ").strip()
        used = 2
        underline = lines[at + 2] if at + 2 < len(lines) else None
        if underline is not None and underline.header == lines[at].header and _CARETS.match(underline.text):
            carets = _underlined(following.text, underline.text)
            used = 3
    return RawFrame(filename, row, function, code, carets, row=lines[at].row, height=used), used


def _is_code(line: Line, frame: Line, indent: int) -> bool:
    text = line.text
    if not text.strip() or line.header != frame.header or _PYTHON.match(text) or _CARETS.match(text):
        return False
    if len(text) - len(text.lstrip()) > indent or text.startswith("- "):
        return True
    # forums strip the indentation of everything
    return not indent and _ERROR.match(text) is None and _section(line) is None


def _underlined(code: str, underline: str) -> tuple[int, int] | None:
    start = len(code) - len(code.lstrip())
    first = len(underline) - len(underline.lstrip())
    last = len(underline.rstrip())
    if first < start or last <= first:
        return None
    return first - start, min(last, len(code.rstrip())) - start


def _numbered_frame(lines: Sequence[Line], at: int, filename: str, row: int, function: str) -> tuple[RawFrame, int]:
    """A frame whose source follows with line numbers, an arrow at its own."""
    context: dict[int, str] = {}
    used = 1
    own = row
    for line in lines[at + 1 : at + 1 + _FARTHEST_CONTEXT]:
        match = _NUMBERED.match(line.text)
        if match is None:
            if context or line.text.strip():
                break
            used += 1
            continue
        used += 1
        context[int(match["row"])] = (match["code"] or "").replace("│", " ")  # rich draws the indentation
        if match["arrow"] and not row:
            own = int(match["row"])
    code = context.get(own, "")
    if own and not code and at + used < len(lines):
        following = lines[at + used]
        if not context and following.text.startswith("    ") and _PYTHON.match(following.text) is None:
            code = following.text.strip()
            used += 1
    return RawFrame(filename, own or 1, function, code, None, bool(context), context, lines[at].row, used), used


def _pytest_frame(lines: Sequence[Line], at: int, match: re.Match[str]) -> tuple[RawFrame | None, int]:
    row = int(match["line"])
    if match["function"]:  # the short style: the code follows
        code, used = "", 1
        if at + 1 < len(lines) and lines[at + 1].text.startswith("    "):
            code, used = lines[at + 1].text.strip(), 2
        return RawFrame(match["file"], row, match["function"], code, row=lines[at].row, height=used), used
    for before in reversed(lines[max(0, at - 40) : at]):  # the long style: it stands above, behind an arrow
        arrow = _PYTEST_ARROW.match(before.text)
        if arrow is not None:
            return RawFrame(match["file"], row, "", arrow["code"].strip(), row=lines[at].row), 1
    return RawFrame(match["file"], row, "", row=lines[at].row), 1
