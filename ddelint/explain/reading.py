"""The text of one process, indexed: which lines match what errors.toml knows, and what stands near them."""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from ddelint.explain.cleaning import Line
from ddelint.explain.frames import Stack
from ddelint.explain.texts import ErrorText, texts

_FARTHEST_MESSAGE = 60
"""Lines between a stack and the line of its message that an error is known by."""
_LONGEST_MESSAGE = 120
_REACH = 3000
"""Characters after an error's telling word within which its text ends."""
_BEFORE = 300
"""Characters before it within which the text begins: a line, and the one before where a terminal has wrapped it."""


@dataclass(frozen=True, slots=True)
class Match:
    """A text that errors.toml knows, at a row."""

    error: ErrorText
    row: int
    groups: dict[str, str]


class Reading:
    """Lines (ascending rows, at least one) and their stacks. `paths` name whose code counts first."""

    def __init__(self, lines: Sequence[Line], stacks: Sequence[Stack], paths: tuple[str, ...]) -> None:
        self.lines = lines
        self.stacks = stacks
        self.paths = paths
        self._rows = [line.row for line in lines]
        self._firsts = [stack.first for stack in stacks]

    def between(self, first: int, end: int) -> Sequence[Line]:
        """The lines of the rows from `first` up to `end`, which is not included."""
        return self.lines[bisect.bisect_left(self._rows, first) : bisect.bisect_left(self._rows, end)]

    def stacks_between(self, first: int, end: int) -> Sequence[Stack]:
        """The stacks that begin in these rows."""
        return self.stacks[bisect.bisect_left(self._firsts, first) : bisect.bisect_left(self._firsts, end)]

    def end_of_message(self, match: Match, following: int) -> int:
        """The first row that is no longer of a match's message; `following` is the next match's."""
        end = min(following, match.row + _LONGEST_MESSAGE)
        lines = self.between(match.row, end)
        end = next((line.row for line in lines if line.header != lines[0].header), end)
        whole = (stack.first for stack in self.stacks_between(match.row + 1, end) if stack.role == "whole")
        return max(next(whole, end), match.row + 1)

    def preceding(self, match: Match, before: int, header: str) -> Stack | None:
        """The traceback that ends in a message: the nearest above it (and `before`), written by the same hand."""
        at = bisect.bisect_left(self._firsts, match.row)
        for stack in reversed(self.stacks[max(0, at - _FARTHEST_MESSAGE) : at]):
            if stack.last >= match.row or stack.role not in ("whole", "user"):
                continue
            near = stack.last >= match.row - _FARTHEST_MESSAGE and stack.last >= before
            return stack if near and bool(stack.header) == bool(header) else None
        return None

    def matches(self) -> list[Match]:
        """What errors.toml knows, in the order of the text; source lines inside frames don't count."""
        hits: list[tuple[int, int, int, ErrorText, re.Match[str]]] = []
        for order, error in enumerate(texts().errors):
            hits += [(match.start(), order, match.end(), error, match) for match in _found(error, self._text)]
        hits.sort(key=lambda hit: hit[:2])
        result: list[Match] = []
        done = -1
        for start, _, end, error, match in hits:
            if start < done:
                continue
            done = end
            row = self.lines[bisect.bisect_right(self._starts, start) - 1].row
            groups = {name: " ".join(value.split()) for name, value in match.groupdict().items() if value}
            hit = Match(error, row, groups)
            if result and _one_message(result[-1], hit):
                if result[-1].error.vague:
                    result[-1] = hit
                continue
            result.append(hit)
        return result

    @cached_property
    def _pieces(self) -> list[str]:
        """The text of each line; empty where it is a frame's or the source that it quotes."""
        quoted: set[int] = set()
        for stack in self.stacks:
            for frame in stack.frames:
                quoted.update(range(frame.row, frame.row + frame.height))
        return ["" if line.row in quoted else line.text for line in self.lines]

    @cached_property
    def _text(self) -> str:
        return "\n".join(self._pieces)

    @cached_property
    def _starts(self) -> list[int]:
        starts, at = [], 0
        for piece in self._pieces:
            starts.append(at)
            at += len(piece) + 1
        return starts


def _found(error: ErrorText, text: str) -> Iterator[re.Match[str]]:
    """The places of one error's text; where it has a telling word, only the surroundings of that are searched."""
    if not error.word:
        yield from error.pattern.finditer(text)
        return
    done = 0
    at = text.find(error.word)
    while at >= 0:
        begin = max(done, text.rfind("\n", 0, max(0, at - _BEFORE)) + 1)
        match = error.pattern.search(text, begin, at + _REACH)
        if match is not None and match.start() <= at:
            yield match
            done = match.end()
        at = text.find(error.word, max(done, at + 1))


def _one_message(first: Match, second: Match) -> bool:
    """`Consider annotating … Could not guard …`: two texts of one sentence, of which the exact one counts."""
    if not (first.error.vague or second.error.vague):
        return False
    reach = max(error.reach for error in (first.error, second.error) if error.vague)
    return second.row - first.row <= reach
