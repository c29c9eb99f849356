"""Whether all that a function's text asks, or each call of it, leads to a place of that text.

No `if` is around the place, and nothing leaves before: no `return`, and no `break` or `continue` of a loop around it.
A text is taken apart once, whatever the number of places.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from functools import cached_property, lru_cache

from ddelint.static.program import scan

_CONDITION = re.compile(r"\s*+(?:(?:if|elif|else|except|case)\b|while\b(?! +(?:True|1)\b|[^\n]*?(?:[<>]|!=)))")
"""What may pass over the block behind it: not a loop that counts, `while step < steps`."""
_DEFINED = re.compile(r"\s*+(?:async\s++)?(?:def|class)\b")
_LOOP = re.compile(r"\s*+(?:async\s++)?(?:for|while)\b")
_WITHIN_LINE = re.compile(r"\b(?:if|else|and|or|lambda)\b")
_BRACKET = re.compile(r"[()\[\]{}]")
_BRACKET_OR_END = re.compile(r"[()\[\]{}\n]")
_RETURN = re.compile(r"(?:\n[ \t]++|[:;][ \t]*+)return\b")
"""The second is that of `if x is None: return`, and of `if x is None: y = 0; return`."""
_JUMP = re.compile(r"(?:\n[ \t]++|[:;][ \t]*+)(?:break|continue)[ \t]*+(?=[\n;#]|$)")
_REMEMBERED = 16
"""Texts that were taken apart: the places of one are asked about one after the other."""


def is_always_run(text: str, place: int, *, each: bool = False) -> bool:
    """Whether all that asks in a text leads to a place of it: no `if` is around that, and nothing leaves before.

    `each`: whether each call leads there, also one that asks nothing.
    """
    return _taken_apart(text).leads_to(place, each)


def closed(text: str, start: int) -> int:
    """Where the bracket is closed behind which a text begins."""
    depth = 1
    for bracket in _BRACKET.finditer(text, start):
        depth += 1 if bracket[0] in "([{" else -1
        if not depth:
            return bracket.start()
    return len(text)


@lru_cache(maxsize=_REMEMBERED)
def _taken_apart(text: str) -> _Text:
    return _Text(text)


class _Text:
    """The lines of a text, what each is a part of, and where it is left."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._starts = [0, *(end.end() for end in re.finditer("\n", text))]
        self._asked: dict[int, bool] = {}

    def leads_to(self, place: int, each: bool) -> bool:
        text, row = self._text, self._row(place)
        left = self._left_before(place, row)
        if left >= 0 and (each or self._asks_before(left)):
            return False
        start = self._starts[row]
        if _WITHIN_LINE.search(text, start, place) or " if " in text[place : self._end(row)]:
            return False
        if (":" in text[start:place] and _CONDITION.match(text, start)) or self._is_chosen(place):
            return False
        headers = (self._starts[header] for header in self._around(row))
        return not any(
            _CONDITION.match(text, header) or (header > self._outermost and _DEFINED.match(text, header))
            for header in headers
        )

    def _row(self, place: int) -> int:
        return bisect_right(self._starts, place) - 1

    def _end(self, row: int) -> int:
        return self._starts[row + 1] - 1 if row + 1 < len(self._starts) else len(self._text)

    def _asks_before(self, place: int) -> bool:
        if place not in self._asked:
            self._asked[place] = scan.asks(self._text[:place])
        return self._asked[place]

    def _left_before(self, place: int, row: int) -> int:
        """The last place before one at which the text may be left; below zero where there is none."""
        returns, ends = self._returns
        last = bisect_left(ends, place) - 1  # not of the statement that the place is a part of
        around = self._around(row)
        jumps = (jump for jump, loop in self._jumps if jump < place and loop in around)
        return max([returns[last] if last >= 0 else -1, *jumps])

    @cached_property
    def _returns(self) -> tuple[list[int], list[int]]:
        """Where the text returns, and where what is returned ends."""
        found = [(way.start(), _end_of_statement(self._text, way.end())) for way in _RETURN.finditer(self._text)]
        return [start for start, _ in found], [end for _, end in found]

    @cached_property
    def _jumps(self) -> list[tuple[int, int]]:
        """Where a turn of a loop is left, and the row at which that loop begins."""
        found = []
        for jump in _JUMP.finditer(self._text):
            row = self._row(jump.end() - 1)
            above = (one for one in (row, *self._around(row)) if _LOOP.match(self._text, self._starts[one]))
            if (loop := next(above, None)) is not None:
                found.append((jump.start(), loop))
        return found

    def _around(self, row: int) -> tuple[int, ...]:
        """The rows of the headers that a row lies behind, from the inside."""
        found = []
        while (row := self._headers[row]) >= 0:
            found.append(row)
        return tuple(found)

    @cached_property
    def _headers(self) -> list[int]:
        """Each row's innermost header, a row itself; below zero where there is none."""
        found: list[int] = []
        open_rows: list[tuple[int, int]] = []
        for row, start in enumerate(self._starts):
            line = self._text[start : self._end(row)]
            indentation = len(line) - len(line.lstrip())
            if not line.strip():
                found.append(-1)
                continue
            header_ends = line.lstrip()[0] in ")]}"  # of several lines: it begins in a row that is indented alike
            while open_rows and open_rows[-1][0] >= indentation + header_ends:
                open_rows.pop()
            found.append(open_rows[-1][1] if open_rows else -1)
            open_rows.append((indentation, row))
        return found

    @cached_property
    def _outermost(self) -> int:
        """Where the line of the function itself begins, or that of the class."""
        return next((start for start in self._starts if _DEFINED.match(self._text, start)), -1)

    def _is_chosen(self, place: int) -> bool:
        """Whether the brackets around a place, or around the call that it begins, ask whether that is computed.

        `(solve(x)`, and in the next line `if exact else x)`.
        """
        text, call = self._text, self._text.startswith("(", place - 1)
        start = self._opened(place - call)
        if start < 0:
            return False
        behind = closed(text, place) if call else place
        end = closed(text, start)
        return any(_WITHIN_LINE.search(part) for part in (text[start:place], text[behind:end]))

    def _opened(self, place: int) -> int:
        """Behind the outermost bracket that is open at a place; below zero where none is."""
        places, outermost = self._brackets
        last = bisect_left(places, place) - 1
        return outermost[last] if last >= 0 else -1

    @cached_property
    def _brackets(self) -> tuple[list[int], list[int]]:
        """The place of each bracket, and behind which outermost one the text is from there on."""
        places: list[int] = []
        outermost: list[int] = []
        depth, start = 0, -1
        for bracket in _BRACKET.finditer(self._text):
            if bracket[0] in "([{":
                depth += 1
                start = bracket.end() if depth == 1 else start
            else:
                depth = max(depth - 1, 0)
            places.append(bracket.start())
            outermost.append(start if depth else -1)
        return places, outermost


def _end_of_statement(text: str, start: int) -> int:
    """Where the statement ends that a place lies in."""
    depth = 0
    for mark in _BRACKET_OR_END.finditer(text, start):
        if mark[0] == "\n":
            if depth <= 0:
                return mark.start()
        else:
            depth += 1 if mark[0] in "([{" else -1
    return len(text)
