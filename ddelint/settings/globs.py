"""Globs, matched in time that is linear in the text: all that a pattern may stand for is followed at once.

A regular expression with `*a*a*a*b` in it tries them one by one, and a pattern may come from anybody's repository.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from ddelint.settings.options import LONGEST_PATTERN


class Glob:
    """A glob over paths with `/`: `?` and `*` stay within one folder, `**` does not, and `**/` may stand for nothing.

    A state is how much of the pattern is matched: one bit each, so that a character moves all of them together.
    """

    def __init__(self, pattern: str, git: bool = False) -> None:
        """`git`: as in an ignore file, `\\` quotes, `[…]` is one of several, `**` inside of a name is `*`.

        Raises ValueError for a pattern longer than any path.
        """
        if len(pattern) > LONGEST_PATTERN:
            raise ValueError(f"a pattern of more than {LONGEST_PATTERN} characters")
        self._tests: list[tuple[int, Callable[[str], bool]]] = []
        self._literals: dict[str, int] = {}
        self._masks: dict[str, int] = {}
        self._within = self._across = self._optional = 0
        """Tokens that repeat, short of a `/` and across it; and those that the next three may be left out at."""
        self._next = 1
        _Parser(pattern, git, self).parse()
        self._final = self._next

    def matches(self, path: str, or_inside: bool = False) -> bool:
        """Whether the whole path matches; with `or_inside`, whether it or a folder that it is in does."""
        states = self._closed(1)
        for character in path:
            slash = character == "/"
            if slash and or_inside and states & self._final:
                return True
            staying = states & (self._across if slash else self._across | self._within)
            states = self._closed((states & self._mask(character)) << 1 | staying)
            if not states:
                return False
        return bool(states & self._final)

    def literal(self, character: str) -> None:
        """The next token is a character."""
        self._literals[character] = self._literals.get(character, 0) | self._next
        self._next <<= 1

    def one(self, test: Callable[[str], bool]) -> None:
        """The next token is any character that passes the test."""
        self._tests.append((self._next, test))
        self._next <<= 1

    def any_within(self) -> None:
        """The next token is `*`. Two in a row are one."""
        if not (self._within | self._across) & self._next >> 1:
            self._within |= self._next
            self._next <<= 1

    def any_across(self) -> None:
        """The next token is `**`."""
        if not self._across & self._next >> 1:
            self._across |= self._next
            self._next <<= 1

    def any_folders(self) -> None:
        """The next token is `**/`. Two in a row are one."""
        if not self._optional & self._next >> 3:
            self._optional |= self._next
            self._next <<= 1
            self._across |= self._next
            self._next <<= 1
            self.literal("/")

    def _closed(self, states: int) -> int:
        """With the states that are reached without a character."""
        while True:
            further = (states & (self._within | self._across | self._optional)) << 1 | (states & self._optional) << 3
            if further | states == states:
                return states
            states |= further

    def _mask(self, character: str) -> int:
        """The tokens that the character is."""
        if character not in self._masks:
            passed = sum(bit for bit, test in self._tests if test(character))
            self._masks[character] = self._literals.get(character, 0) | passed
        return self._masks[character]


class _Parser:
    """Takes a pattern apart."""

    def __init__(self, pattern: str, git: bool, into: Glob) -> None:
        self._pattern = pattern
        self._git = git
        self._into = into

    def parse(self) -> None:
        """Tell the glob its tokens."""
        position = 0
        while position < len(self._pattern):
            position = self._token(position)

    def _token(self, start: int) -> int:
        """Tell the glob one token; gives where the next begins."""
        pattern, character = self._pattern, self._pattern[start]
        if character == "*":
            return self._stars(start)
        if character == "?":
            self._into.one(_no_slash)
        elif self._git and character == "\\" and start + 1 < len(pattern):
            self._into.literal(pattern[start + 1])
            return start + 2
        elif self._git and character == "[" and (end := self._end_of_class(start)):
            self._into.one(_one_of(pattern[start + 1 : end]))
            return end + 1
        else:
            self._into.literal(character)
        return start + 1

    def _stars(self, start: int) -> int:
        end = start
        while self._pattern.startswith("*", end):
            end += 1
        begins = start == 0 or self._pattern[start - 1] == "/"
        if end - start < 2 or (self._git and not (begins and self._pattern[end : end + 1] in ("", "/"))):
            self._into.any_within()
        elif self._pattern.startswith("/", end):
            self._into.any_folders()
            end += 1
        else:
            self._into.any_across()
        return end

    def _end_of_class(self, start: int) -> int:
        """Where the class that begins at `[` ends; 0: nowhere."""
        position = start + 1
        if self._pattern.startswith(("!", "^"), position):
            position += 1
        first = position
        while position < len(self._pattern):
            if self._pattern[position] == "]" and position > first:
                return position
            position += 2 if self._pattern[position] == "\\" else 1
        return 0


def _no_slash(character: str) -> bool:
    return character != "/"


def _one_of(listed: str) -> Callable[[str], bool]:
    """The test of a class: single characters and ranges, `!` or `^` before them for all others; never `/`."""
    others = listed[:1] in ("!", "^")
    ranges: list[tuple[str, str]] = []
    position = int(others)
    while position < len(listed):
        position += listed[position] == "\\" and position + 1 < len(listed)
        first = last = listed[position]
        position += 1
        if listed.startswith("-", position) and position + 1 < len(listed):
            position += 1
            position += listed[position] == "\\" and position + 1 < len(listed)
            last = listed[position]
            position += 1
        ranges.append((first, last))
    return lambda character: (
        character != "/" and any(first <= character <= last for first, last in ranges) is not others
    )


@cache
def glob(pattern: str, git: bool = False) -> Glob:
    """As `Glob`, each made once."""
    return Glob(pattern, git)
