"""The patterns of an ignore file, or of `exclude`: what git's syntax says of a path."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from ddelint.settings.globs import Glob
from ddelint.settings.options import LONGEST_PATTERN, MOST_PATTERNS

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

FEW = 2
"""Stars up to which a regular expression is at most quadratic in a path."""


class IgnorePatterns:
    """Lines in gitignore's syntax; the last one that has a word on a path decides."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.refused: tuple[str, ...] = ()
        """Lines that cannot be used, shortened; they count for nothing."""
        self._pieces: list[GitIgnoreSpec | _Line] = []
        """The library's specifications, with our own lines between them where a regular expression may take long."""
        plain: list[str] = []
        lines = [line for line in lines if line.strip() and not line.startswith("#")]
        if len(lines) > MOST_PATTERNS:
            self.refused = (f"{lines[MOST_PATTERNS][:60]}` and what follows the first {MOST_PATTERNS}, `…",)
        for line in lines[:MOST_PATTERNS]:
            if len(line) + 3 > LONGEST_PATTERN:
                self.refused += (f"{line[:60]}…",)
            elif _repeats(line) <= FEW:
                plain.append(line)
            else:
                self._take(plain)
                plain = []
                self._pieces.append(_Line(line))
        self._take(plain)

    def verdict(self, path: str, folder: bool) -> bool | None:
        """Whether a relative path is left out; None where no pattern has a word on it."""
        for piece in reversed(self._pieces):
            if isinstance(piece, _Line):
                verdict = piece.verdict(path, folder)
            else:
                verdict = piece.check_file(path + "/" if folder else path).include
            if verdict is not None:
                return verdict
        return None

    def _take(self, lines: list[str]) -> None:
        if not any(lines):
            return
        from pathspec import GitIgnoreSpec  # a file given by name doesn't pay for it

        try:
            self._pieces.append(GitIgnoreSpec.from_lines(lines))
        except (ValueError, re.error):
            self._take([line for line in lines if self._is_pattern(line)])

    def _is_pattern(self, line: str) -> bool:
        from pathspec import GitIgnoreSpec

        try:
            GitIgnoreSpec.from_lines([line])
        except (ValueError, re.error):
            self.refused += (line,)
            return False
        return True


class _Line:
    """One pattern that is no comment."""

    def __init__(self, line: str) -> None:
        text = _without_blanks(line)
        self._leaves_out = not text.startswith("!")
        text = text.removeprefix("!")
        self._folders_only = text.endswith("/")
        text = text.rstrip("/")
        anchored = "/" in text
        self._glob = Glob(text.lstrip("/") if anchored else f"**/{text}", git=True)

    def verdict(self, path: str, folder: bool) -> bool | None:
        whole = path if folder or not self._folders_only else path.rpartition("/")[0]
        return self._leaves_out if whole and self._glob.matches(whole, or_inside=True) else None


@cache
def ignore_patterns(lines: tuple[str, ...]) -> IgnorePatterns:
    """As `IgnorePatterns`, each made once."""
    return IgnorePatterns(lines)


def _without_blanks(line: str) -> str:
    """Without the blanks at its end, short of one that is quoted."""
    stripped = line.rstrip()
    backslashes = len(stripped) - len(stripped.rstrip("\\"))
    return stripped + line[len(stripped) : len(stripped) + 1] if backslashes % 2 else stripped


def _repeats(line: str) -> int:
    """How many repeats the regular expression of a line has."""
    return sum(1 if part == "**" else part.count("*") for part in line.split("/"))
