"""Globs and ignore patterns: what they match, and that no pattern takes long."""

from __future__ import annotations

from pathlib import PurePath

import pytest
from pathspec import GitIgnoreSpec

from ddelint.settings import ignore_patterns
from ddelint.settings.globs import Glob
from ddelint.settings.ignore_patterns import IgnorePatterns
from ddelint.settings.options import LONGEST_PATTERN, matches

PATHS = (
    "a", "a.py", "a/b.py", "a/b/c.py", "b/a/c.py", "ab/c", "a/x/y/b", "a/b", "[a].py", "a-b.py", "A.py", "a/a/a/a.py",
)  # fmt: skip
PATTERNS = (
    "a", "*.py", "a/*", "a/**", "**/a", "**/b.py", "a/**/b", "/a", "a/", "!a", "[ab].py", "[!a].py", "[^a].py", "a?b*",
    "*", "**", "a/*/c.py", "\\[a].py", "[a-c]/", "a**b", "**/a/**", "#a", "\\#a", "!*.py", "a*.py ", "***", "*a*a*",
    "a*/",
)  # fmt: skip


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_line_says_what_the_library_says(pattern: str, monkeypatch: pytest.MonkeyPatch) -> None:
    theirs = GitIgnoreSpec.from_lines([pattern])
    monkeypatch.setattr(ignore_patterns, "FEW", -1)
    own = IgnorePatterns([pattern])
    for path in PATHS:
        for folder in (False, not pattern.endswith("/**")):  # there the library takes the folder for its content
            assert own.verdict(path, folder) == theirs.check_file(path + "/" * folder).include, (path, folder)


def test_no_pattern_takes_long() -> None:
    name = "a" * 250
    stars = "*a" * 60 + "*b"
    assert IgnorePatterns([stars]).verdict(name, False) is None
    assert IgnorePatterns([stars, f"!{stars[:-1]}"]).verdict(name, False) is False
    assert IgnorePatterns(["**/a/" * 30 + "b"]).verdict("a/" * 200 + "c", False) is None
    assert IgnorePatterns(["*" * 60 + "b"]).verdict(name, False) is None
    assert not matches(PurePath(name), stars)
    assert not Glob("**a" * 60 + "b").matches(name)


def test_what_is_no_pattern_is_said() -> None:
    assert IgnorePatterns(["[z-a]", "!", "*.py", "x" * (LONGEST_PATTERN + 1)]).refused[:2] != ()
    assert IgnorePatterns(["[z-a]", "*.py"]).verdict("a.py", False) is True


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("*.py", "a/b.py", True), ("tests/*", "tests/a.py", True), ("tests/*", "tests/a/b.py", True),
        ("src/gen", "src/gen/a.py", True), ("src/gen", "src/generated.py", False), ("**/gen/**", "gen/a.py", True),
        ("**/gen/**", "a/gen/b/c.py", True), ("a/**/b.py", "a/b.py", True), ("a/**/b.py", "a/xb.py", False),
        ("__init__.py", "a/__init__.py", True), ("[a].py", "[a].py", True),
    ],
)  # fmt: skip
def test_a_glob_of_ours(pattern: str, path: str, expected: bool) -> None:
    assert matches(PurePath(path), pattern) is expected
