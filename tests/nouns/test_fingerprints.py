"""Fingerprints hold still when other lines move, and change when the code in question does."""

from __future__ import annotations

import pytest

from ddelint.nouns.diagnostics import Diagnostic, Span
from ddelint.nouns.fingerprints import fingerprints, relative

TEXT = """\
class Router:
    def forward(self, x):
        n = x.item()
        if n > 4:
            return x
        if n > 4:
            return -x
"""


def made(text: str, *rows: int, code: str = "DDE101", base: str = "/repo", filename: str = "/repo/m.py") -> list[str]:
    lines = text.splitlines(keepends=True)
    found = []
    for row in rows:
        column = lines[row - 1].index("n > 4") + 1 if "n > 4" in lines[row - 1] else 1
        found.append(Diagnostic(code, "", Span(filename, row, column, row, column + 5)))
    return fingerprints(found, lambda _: lines, base)


def test_equal_lines_are_told_apart_by_their_order() -> None:
    first, second = made(TEXT, 4, 6)
    assert first != second
    assert made(TEXT, 6, 4) == [second, first]
    assert len(first) == 32
    int(first, 16)


@pytest.mark.parametrize(
    ("text", "row"),
    [
        ("import torch\n\n\n" + TEXT, 7),
        (TEXT.replace("n = x.item()\n", "n = x.item()\n\n        m = n + 1\n"), 6),
        (TEXT.replace("if n > 4:", "if n > 4:  # a large one", 1), 4),
        (TEXT.replace("if n > 4:", "if  n > 4 :", 1), 4),
        (TEXT.replace("\n", "\r\n"), 4),
        (TEXT.replace("    ", "  "), 4),
        (TEXT.replace("class", "@final\nclass"), 5),
    ],
    ids=["lines above", "lines inside", "comment", "white space", "line ends", "indentation", "decorator"],
)
def test_what_a_fingerprint_survives(text: str, row: int) -> None:
    assert made(text, row) == made(TEXT, 4)


@pytest.mark.parametrize(
    "other",
    [
        made(TEXT.replace("> 4:", "> 4 and x:"), 4),
        made(TEXT.replace("forward", "step"), 4),
        made(TEXT.replace("Router", "Model"), 4),
        made(TEXT, 4, code="DDE102"),
        made(TEXT, 4, filename="/repo/other.py"),
        made(TEXT, 3),
    ],
    ids=["text", "function", "class", "rule", "file", "line"],
)
def test_what_makes_it_another_finding(other: list[str]) -> None:
    assert other != made(TEXT, 4)


def test_two_checkouts_agree() -> None:
    assert made(TEXT, 4) == made(TEXT, 4, base="/elsewhere/repo", filename="/elsewhere/repo/m.py")
    assert relative("/repo/a/b.py", "/repo") == "a/b.py"
    assert relative("/other/b.py", "/repo") == "../other/b.py"
    assert relative("a.py", "/repo") == "a.py"


def test_a_file_that_is_gone_still_has_one() -> None:
    finding = Diagnostic("DDE101", "", Span("/repo/m.py", 9, 1, 9, 2))
    assert fingerprints([finding, finding], lambda _: (), "/repo")[0] != ""


def test_what_no_rewrite_keeps_is_known_as_what_it_was_before() -> None:
    """A search that had less time does not make another finding of it."""
    finding = Diagnostic("DDE101", "", Span("/repo/m.py", 4, 12, 4, 17))
    later = Diagnostic("DDE901", "", finding.span, stands_for="DDE101")
    one, other = (fingerprints([found], lambda _: TEXT.splitlines(True), "/repo") for found in (finding, later))
    assert one == other
