"""One error after the other, as a text reports them: what was asked, by which code, and who made the symbols."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ddelint.explain import births
from ddelint.explain.births import Birth
from ddelint.explain.cleaning import Line
from ddelint.explain.frames import RawFrame, Stack, location, locations, stacks
from ddelint.explain.ownership import blamed, is_framework, normal
from ddelint.explain.reading import Match, Reading
from ddelint.explain.texts import texts
from ddelint.knowledge.catalog import rules

_CAUSED_BY = re.compile(r"Caused by: (?P<where>.*)")
_BREAK_AT = re.compile(r"Graph break in user code at (?P<file>.{1,1000}?):(?P<line>\d+)")
_EXPORT_CALLED = re.compile(r"occurred when calling torch\.export\.export")
_COMPARISON = re.compile(r"[<>]|[=!]=|\b(?:Eq|Ne|Lt|Le|Gt|Ge|And|Or|Not|Contains)\(|[&|~]")
_INPUT = re.compile(r"(?:(?<!\w)\w++ = )?L\[\W{0,20}\w++\W{0,20}?\](?:\[\d+\])?(?=[. ])")
_CODE_ALONE = re.compile(r"^\s{8,}(?P<code>\S.*?)(?<=\S):?$")
_FARTHEST_HINT = 60
"""Lines between an error and torch's advice on it."""
_FARTHEST_TITLE = 3
"""Lines between the title of a graph break, which names the place, and its reason."""


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One error. `kind` and `code` are as in rules/errors.toml, with `auto` resolved."""

    row: int
    """Row of the text that says it."""
    kind: str = ""
    code: str = ""
    raw: str = ""
    operator: str = ""
    groups: Mapping[str, str] = field(default_factory=dict)
    value: str = ""
    read: str = ""
    vague: bool = False
    asks: tuple[str, ...] = ()
    message: str = ""
    """What the text says, its first line."""
    hints: tuple[str, ...] = ()
    """What torch advises in the same text, in its words."""
    flag: str = ""
    """The setting of Dynamo's under which it captures what broke the graph."""
    frames: tuple[RawFrame, ...] = ()
    """The way to the question, outermost first."""
    blamed: int | None = None
    """Which of `frames` asks; None where no frame is anybody's code."""
    traced: bool = True
    """Whether that frame is in traced code; otherwise it only calls the compiler."""
    names: Mapping[str, str] = field(default_factory=dict)
    sizes: frozenset[str] = frozenset()
    births: Mapping[str, Birth] = field(default_factory=dict)
    stack: int = 0
    """Row of the traceback above it, by which the errors of a chain are distinguished; 0 for none."""
    times: int = 1

    @property
    def frame(self) -> RawFrame | None:
        """The blamed frame."""
        return None if self.blamed is None else self.frames[self.blamed]


def find(lines: Sequence[Line], paths: Sequence[str]) -> list[Occurrence]:
    """Every error in the lines of one process. `paths` name whose code counts first."""
    reading = Reading(lines, stacks(lines), tuple(paths))
    matches = reading.matches()
    known = births.Known(births.births(lines, reading.stacks, paths))
    occurrences = []
    for number, match in enumerate(matches):
        before = matches[number - 1].row if number else 0
        following = matches[number + 1].row if number + 1 < len(matches) else lines[-1].row + 1
        occurrence = _occurrence(match, before, following, reading, known)
        if occurrence is not None:
            occurrences.append(occurrence)
    return distinct(occurrences)


def distinct(occurrences: Sequence[Occurrence]) -> list[Occurrence]:
    """Without what is reported twice: by a chained traceback, a log and the error it ends in, or once for each rank."""
    kept: dict[tuple[object, ...], Occurrence] = {}
    for occurrence in sorted(occurrences, key=lambda o: (o.frame is None, not o.traced, not o.frames, o.vague, o.row)):
        frame = occurrence.frame
        subject = _subject(occurrence)
        place = (frame.filename, frame.line) if frame is not None else ("", occurrence.row)
        known = next((key for key in kept if _same(key, place, subject, occurrence, kept[key])), None)
        if known is None:
            kept[(*place, subject)] = occurrence
        else:
            first = kept[known]
            kept[known] = replace(
                first,
                asks=tuple(dict.fromkeys((*first.asks, *occurrence.asks))),
                births={**occurrence.births, **first.births},
                names={**occurrence.names, **first.names},
                value=first.value or occurrence.value,
                hints=tuple(dict.fromkeys((*first.hints, *occurrence.hints))),
                flag=first.flag or occurrence.flag,
            )
    return sorted(kept.values(), key=lambda occurrence: occurrence.row)


def resolved(kind: str, raw: str) -> str:
    """A kind in the words of diagnostics.Question: `auto` by what is asked."""
    if kind == "auto":
        return "truth" if _COMPARISON.search(raw) else "integer"
    return kind


def _rules_of(number: str) -> list[str]:
    """The rules that a graph break's number stands for."""
    return [rule.code for rule in rules().values() if f"GB{number}" in rule.graph_breaks]


def front_end(frames: Sequence[RawFrame]) -> str:
    """Which front end a stack belongs to; empty where nothing says."""
    for end in texts().front_ends:
        if any(end.file in normal(f.filename) and end.function in ("", f.function) for f in frames):
            return end.name
    return ""


def _same(
    key: tuple[object, ...], place: tuple[str, int], subject: str, occurrence: Occurrence, first: Occurrence
) -> bool:
    if key[:2] == place:
        return (
            key[2] == subject
            or occurrence.vague
            or first.kind == occurrence.kind == "operator"
            or _one_chain(first, occurrence)
        )
    if occurrence.frame is None or not occurrence.traced:
        if occurrence.frames and occurrence.frame is None and not _quotes(first, occurrence.frames[0].code):
            return False  # its place is lost, but not the line that it was asked on
        return key[2] == subject or (occurrence.vague and first.frame is not None) or _retold(first, occurrence)
    return False


def _quotes(occurrence: Occurrence, code: str) -> bool:
    """Whether the blamed line is, or may be, `code`; a report's title may have cost it a colon."""
    frame = occurrence.frame or (occurrence.frames[0] if occurrence.frames else None)
    return frame is None or not frame.code or frame.code.rstrip(":") == code.rstrip(":")


def _retold(first: Occurrence, second: Occurrence) -> bool:
    """The same error of two links of a chain, which name the inputs differently (`L['flat_args'][0]`, `L['x']`)."""
    if not first.code or first.code != second.code or first.stack == second.stack:
        return False
    return _INPUT.sub("", str(sorted(first.groups.items()))) == _INPUT.sub("", str(sorted(second.groups.items())))


def _one_chain(first: Occurrence, second: Occurrence) -> bool:
    """Two errors at one place, one with the compiler's words and one without, are one."""
    return bool(first.raw or first.operator) != bool(second.raw or second.operator)


def _subject(occurrence: Occurrence) -> str:
    """What an error is about, so that two tellings of it agree."""
    if occurrence.operator:
        return occurrence.operator.replace("::", ".").removesuffix(".default")
    return (
        "".join(occurrence.raw.split()) or str(sorted(occurrence.groups.items())) or occurrence.code or occurrence.kind
    )


def _occurrence(match: Match, before: int, following: int, reading: Reading, known: births.Known) -> Occurrence | None:
    error = match.error
    kind, code = error.kind, error.code
    if kind == "break":
        codes = _rules_of(match.groups["graph_break"])
        if not codes:
            return None
        kind, code = ("", codes[0]) if len(codes) == 1 else ("truth", "")
    end = reading.end_of_message(match, following)
    message = reading.between(match.row, end)
    reported = births.facts(message)
    raw = match.groups.get("raw", "")
    preceding = reading.preceding(match, before, message[0].header)
    frames, who, traced = _chosen(match, message, preceding, before, end, reading)
    asks = front_end([*(preceding.frames if preceding is not None else ()), *frames])
    if not asks and any(_EXPORT_CALLED.search(line.text) for line in message):
        asks = "export"
    return Occurrence(
        row=match.row,
        kind=resolved(kind, raw),
        code=code,
        raw=raw,
        operator=match.groups.get("operator", ""),
        groups=match.groups,
        value=error.value,
        read=error.read,
        vague=error.vague,
        asks=(asks,) if asks else error.asks,
        message=message[0].text.strip(),
        hints=_hints(reading.between(match.row, min(following, match.row + _FARTHEST_HINT))),
        flag=error.flag_of(match.groups.get("operator", "")) if "export" not in asks and asks != "strict" else "",
        frames=frames,
        blamed=who,
        traced=traced,
        names=reported.names,
        sizes=reported.sizes,
        stack=preceding.first if preceding is not None else 0,
        births=known.at(end - 1),
    )


def _chosen(
    match: Match, message: Sequence[Line], preceding: Stack | None, before: int, end: int, reading: Reading
) -> tuple[tuple[RawFrame, ...], int | None, bool]:
    """The frames that say most: those of the user's code in the message, the traceback, what it was caused by."""
    paths = reading.paths
    inside = reading.stacks_between(match.row, end)
    fallback: tuple[tuple[RawFrame, ...], int | None, bool] = ((), None, True)
    above = None if preceding is None else blamed(preceding.frames, paths, preceding.role == "user")
    for stack in reversed([stack for stack in inside if stack.role == "user"]):
        if (who := blamed(stack.frames, paths, traced=True)) is not None:
            reported = stack.frames[who[0]]
            if preceding is not None and above is not None and above[1] and _passes(preceding.frames, reported):
                return tuple(preceding.frames), *above  # the same way, with all of its frames
            return tuple(stack.frames), who[0], True
    for frames in _causes(message):
        deepest = None if preceding is None or above is None else preceding.frames[above[0]]
        if (who := blamed(frames, paths, traced=True)) is not None and (deepest is None or is_call(deepest)):
            return tuple(frames), who[0], True  # the traceback ends at the call of the compiler
    if preceding is not None and above is not None:
        if above[1]:
            return tuple(preceding.frames), *above
        fallback = (tuple(preceding.frames), *above)
    for frames in _mentioned(match, message, before, inside, reading):
        if (who := blamed(frames, paths, traced=True)) is not None:
            return tuple(frames), who[0], True
    if fallback[1] is None and (code := _code_alone(message)) is not None:
        return (RawFrame("", 0, "", code, row=message[0].row),), None, True
    return fallback


def _hints(lines: Sequence[Line]) -> tuple[str, ...]:
    """What torch advises, in the order of the text."""
    text = "\n".join(line.text for line in lines)
    found = sorted(
        (match.start(), match["hint"], hint.note) for hint in texts().hints for match in hint.pattern.finditer(text)
    )
    return tuple(dict.fromkeys(" ".join(f"{words} {note}".split()) for _, words, note in found))


def _passes(frames: Sequence[RawFrame], place: RawFrame) -> bool:
    return any((frame.filename, frame.line) == (place.filename, place.line) for frame in frames)


def _mentioned(
    match: Match, message: Sequence[Line], before: int, inside: Sequence[Stack], reading: Reading
) -> Iterator[list[RawFrame]]:
    """Places that a message names in passing."""
    yield from _causes(message)
    for stack in inside:
        if stack.role == "graph":
            yield stack.frames
    for line in reading.between(max(before, match.row - _FARTHEST_TITLE), match.row + 1):
        if (at := _BREAK_AT.search(line.text)) is not None:
            yield [RawFrame(at["file"], int(at["line"]), row=line.row)]
    if (frame := location(message[0].text)) is not None and not is_framework(frame.filename):
        yield [frame]


def _causes(message: Sequence[Line]) -> Iterator[list[RawFrame]]:
    for line in message:
        if (caused := _CAUSED_BY.search(line.text)) is not None:
            yield [frame for frame in locations(caused["where"]) if not is_framework(frame.filename)]


def is_call(frame: RawFrame) -> bool:
    """Whether a frame only calls the compiler: what it calls is traced, not its own line."""
    return any(f"{entrance}(" in frame.code for entrance in texts().ownership.calls)


def _code_alone(message: Sequence[Line]) -> str | None:
    """The source line of a report whose file names were lost: it stands alone below the stack's title."""
    for number, line in enumerate(message[:-1]):
        if line.text.rstrip().endswith("stacktrace:"):
            match = _CODE_ALONE.match(message[number + 1].text)
            return match["code"] if match is not None else None
    return None
