"""Which side of a test is the general one."""

from __future__ import annotations

import ast

import pytest

from ddelint.rewrite.reading.polarity import general_side


@pytest.mark.parametrize(
    ("text", "side"),
    [
        ("n == 0", False),
        ("0 == n", False),
        ("n > 0", True),
        ("0 < n", True),
        ("x.shape[0] != 1", True),
        ("not mask.any()", False),
        ("bool(mask.any())", True),
        ("mask.all()", False),
        ("n > 7", None),
        ("len(x) == 0 or x.numel() == 0", False),
    ],
)
def test_the_general_side(text: str, side: bool | None) -> None:
    assert general_side(ast.parse(text, mode="eval").body) is side
