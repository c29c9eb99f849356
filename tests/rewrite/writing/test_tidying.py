"""Two `if torch.compiler.is_compiling():` in a row become one; those of the file's author stay."""

from __future__ import annotations

import pytest

from ddelint.rewrite.writing.tidying import tidied
from ddelint.sources.source import SourceFile

HEAD = "import torch\n\n\ndef f(x, y):\n"
FIRST = "    if torch.compiler.is_compiling():\n        torch._check(x)\n    elif bad:\n        raise ValueError\n"
SECOND = FIRST.replace("(x)", "(y)").replace(
    "elif bad:\n        raise ValueError", "else:\n        # why\n        assert y"
)
ALONE = "    if torch.compiler.is_compiling():\n        y = 1\n"
BOTH = (
    "    if torch.compiler.is_compiling():\n        torch._check(x)\n        torch._check(y)\n    else:\n"
    "        if bad:\n            raise ValueError\n        # why\n        assert y\n"
)


def tidy(text: str, before: str = "") -> str:
    return tidied(SourceFile("model.py", HEAD + text), HEAD + before).removeprefix(HEAD)


def test_two_become_one_with_their_comments() -> None:
    assert tidy(FIRST + SECOND) == BOTH


def test_a_blank_line_between_two_stays_where_eager_keeps_both_and_no_other_comes() -> None:
    apart = BOTH.replace("        # why", "\n        # why")
    assert tidy(FIRST + "\n" + SECOND + "\n\nx = 1\n") == apart + "\n\nx = 1\n"
    assert tidy(FIRST + "\n\n" + SECOND + "\n" + FIRST).count("\n\n") == 2
    assert tidy(ALONE + "\n" + ALONE.replace("1", "2")) == ALONE + "        y = 2\n"


def test_a_whole_row_becomes_one() -> None:
    assert tidy(ALONE + ALONE.replace("1", "2") + SECOND) == (
        "    if torch.compiler.is_compiling():\n        y = 1\n        y = 2\n        torch._check(y)\n"
        "    else:\n        # why\n        assert y\n"
    )


def test_what_only_eager_does_is_put_together_too() -> None:
    said = "    if not torch.compiler.is_compiling():\n        print(x)  # said\n"
    assert tidy(said + "\n" + said) == said + "\n        print(x)  # said\n"
    assert tidy(FIRST + said) == (
        "    if torch.compiler.is_compiling():\n        torch._check(x)\n    else:\n        if bad:\n"
        "            raise ValueError\n        print(x)  # said\n"
    )
    assert (
        tidy(said + ALONE)
        == "    if torch.compiler.is_compiling():\n        y = 1\n    else:\n        print(x)  # said\n"
    )


@pytest.mark.parametrize(
    "text",
    [
        FIRST + "    x = y\n" + SECOND,
        FIRST + "    # about the second\n" + SECOND,
        FIRST + SECOND.replace("torch.compiler.is_compiling()", "torch.compiler.is_compiling() and y"),
    ],
)
def test_what_is_not_side_by_side_or_asks_more_stays(text: str) -> None:
    assert tidy(text) == text


def test_what_stood_there_before_stays() -> None:
    assert tidy(FIRST + SECOND, FIRST + SECOND) == FIRST + SECOND
    assert tidy(FIRST + SECOND, FIRST) == BOTH


@pytest.mark.parametrize("ending", ["\r\n", "\r"])
def test_line_ends(ending: str) -> None:
    text = (HEAD + FIRST + SECOND).replace("\n", ending)
    assert tidied(SourceFile("model.py", text), "") == (HEAD + BOTH).replace("\n", ending)
