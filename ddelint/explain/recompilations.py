"""Recompilations (TORCH_LOGS=recompiles): which guard failed, and which line of the user's it belongs to."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ddelint.explain.cleaning import Line
from ddelint.explain.frames import RawFrame, location, stacks
from ddelint.explain.occurrences import Occurrence
from ddelint.explain.ownership import blamed, is_framework
from ddelint.explain.texts import texts

_FUNCTION = re.compile(
    r"Recompiling function (?P<function>[^\s]+) in (?P<file>[^\"\n]{1,500}?)"
    r"(?::(?P<line>\d+))?(?:', \"(?P<reason>.{0,2000})\"\))?$"
)
_LIMIT = re.compile(r"torch\._dynamo hit config\.(?P<limit>\w+) \((?P<number>\d+)\)")
_LIMIT_FUNCTION = re.compile(r"^\s*function: '(?P<function>[^']+)' \((?P<file>.+):(?P<line>\d+)\)")
_LIMIT_REASON = re.compile(r"^\s*last reason: (?:\d+/\d+: )?(?P<reason>.+)$")
_REASON = re.compile(r"^\s*(?:- )?(?:\d+/\d+: )(?P<reason>.+)$")
_OLD_REASON = re.compile(r"(?:^\s*- |triggered by the following guard failure: )(?P<reason>.+)$")
_NOT_A_REASON = re.compile(r"^\s*+(?:-\s*+)?(?:User stack trace:|File \"|guard \d+ failures)")
_COMMENT = re.compile(r"(?<!\s)\s+# ")
_HINT = re.compile(r"(?<!\s)\s+\((?:HINT|user code shown).*")
_LOCAL = re.compile(r"L\[['\"](?P<name>\w+)['\"]\]")
_METHOD_SIZE = re.compile(r"\.size\(\)\[")
_RESUMED = re.compile(r"torch_dynamo_resume_in_(?P<function>\w{1,300})_at_(?P<line>\d+)")
_LAST_LINES = 60


@dataclass(frozen=True, slots=True)
class _Block:
    """What was said about one recompilation."""

    function: RawFrame
    row: int
    lines: tuple[Line, ...]
    reasons: tuple[tuple[str, int], ...]


def find(lines: Sequence[Line], paths: Sequence[str]) -> list[Occurrence]:
    """One occurrence for each guard that kept failing, however often it did."""
    kept: dict[tuple[str, int, str], Occurrence] = {}
    for block in _blocks(lines):
        for reason, row in block.reasons:
            occurrence = _occurrence(reason, row, block, paths)
            if occurrence is None or occurrence.frame is None:
                continue
            key = (occurrence.frame.filename, occurrence.frame.line, occurrence.groups.get("subject", occurrence.raw))
            first = kept.get(key)
            kept[key] = occurrence if first is None else replace(first, times=first.times + 1)
    return list(kept.values())


def _blocks(lines: Sequence[Line]) -> Iterator[_Block]:
    for at, line in enumerate(lines):
        if "Recompiling function" in line.text and (match := _FUNCTION.search(line.text)) is not None:
            frame = RawFrame(match["file"], int(match["line"] or 1), match["function"], row=line.row)
            if match["reason"]:  # 2.0 printed a tuple
                reason = match["reason"].rpartition("guard failure: ")[2]
                yield _Block(frame, line.row, (), ((reason, line.row),))
                continue
            here = _belonging(lines, at)
            yield _Block(frame, line.row, here, tuple(_reasons(here)))
        elif "torch._dynamo hit config" in line.text and _LIMIT.search(line.text) is not None:
            here = _belonging(lines, at)
            matches = [match for ln in here if (match := _LIMIT_FUNCTION.match(ln.text)) is not None]
            reasons = [(m["reason"], ln.row) for ln in here if (m := _LIMIT_REASON.match(ln.text)) is not None]
            if matches:
                first = matches[0]
                frame = RawFrame(first["file"], int(first["line"]), first["function"], row=line.row)
                yield _Block(frame, line.row, here, tuple(reasons))


def _belonging(lines: Sequence[Line], at: int) -> tuple[Line, ...]:
    """The lines after a title that are of the same message."""
    found: list[Line] = []
    for line in lines[at + 1 : at + 1 + _LAST_LINES]:
        if "Recompiling function" in line.text or (line.header != lines[at].header and lines[at].header):
            break
        if not lines[at].header and line.text and not line.text[0].isspace() and not line.text.startswith("-"):
            break
        found.append(line)
    return tuple(found)


def _reasons(lines: Sequence[Line]) -> Iterator[tuple[str, int]]:
    for line in lines:
        if _NOT_A_REASON.match(line.text):
            continue
        match = _REASON.match(line.text) or _OLD_REASON.search(line.text)
        if match is not None and "User stack trace" not in match["reason"]:
            yield match["reason"], line.row


def _occurrence(reason: str, row: int, block: _Block, paths: Sequence[str]) -> Occurrence | None:
    guard, comment = [*_COMMENT.split(reason, maxsplit=1), ""][:2]
    guard = _METHOD_SIZE.sub(".shape[", _LOCAL.sub(r"\g<name>", _HINT.sub("", guard).strip()))
    for known in texts().recompilations:
        match = known.pattern.match(guard)
        if match is None:
            continue
        groups: Mapping[str, str] = {name: value for name, value in match.groupdict().items() if value}
        subject = known.expression.format(**groups) if known.expression else ""
        resumed = _RESUMED.search(block.function.function) if known.resumed else None
        if resumed is not None:
            frame: RawFrame | None = replace(block.function, line=int(resumed["line"]), function=resumed["function"])
        else:
            frame = _place(row, comment, block, paths)
        if frame is None:
            return None
        return Occurrence(
            row=block.row,
            code=known.code,
            raw="" if subject or resumed else guard,
            groups={"subject": subject} if subject else {},
            asks=("compile",),
            message=f"recompiled: {guard}",
            frames=(frame,),
            blamed=0,
        )
    return None


def _place(row: int, comment: str, block: _Block, paths: Sequence[str]) -> RawFrame | None:
    """The line that a guard belongs to: the stack under it, the comment beside it, else the function's first."""
    below = [line for line in block.lines if line.row > row]
    for stack in stacks(below)[:1]:
        if stack.first <= row + 2 and (who := blamed(stack.frames, paths, traced=True)) is not None:
            return stack.frames[who[0]]
    frame = location(comment) if comment else None
    if frame is not None and not is_framework(frame.filename):
        return _with_code(frame, comment)
    return None if is_framework(block.function.filename) else block.function


def _with_code(frame: RawFrame, comment: str) -> RawFrame:
    code, *rest = _COMMENT.split(comment, maxsplit=1)
    return replace(frame, code=code.strip()) if rest else frame
