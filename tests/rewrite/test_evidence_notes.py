"""What the evidence says of differences: each once."""

from __future__ import annotations

import pytest

from ddelint.nouns.protocol import Mismatch
from ddelint.rewrite.search.reporting import _difference

EXPORT = Mismatch("x all zero", False, "export", "exception", "a result", "RuntimeError: max()")


@pytest.mark.parametrize(
    ("notes", "said"),
    [
        ([], "export, x all zero: exception differs (expected a result, got RuntimeError: max())"),
        (
            ["on x all ones: traced path, x all ones: exception differs (expected a result, got RuntimeError: max())"],
            "export, x all zero: exception differs (expected a result, got RuntimeError: max())",
        ),
        (
            ["made by us: traced path, x all zero: exception differs (expected a result, got RuntimeError: max())"],
            "export differs there, too",
        ),
    ],
)
def test_a_difference_that_is_known_is_not_described_again(notes: list[str], said: str) -> None:
    assert _difference(EXPORT, "export", notes) == said
