"""What the evidence says of differences: each once."""

from __future__ import annotations

import pytest

from ddelint.nouns.protocol import Compilation, Mismatch, TargetResult
from ddelint.rewrite.search.reporting import GENERATED_CODE_DIFFERS, _difference, _passed

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


@pytest.mark.parametrize(
    ("target", "declared", "notes", "passed"),
    [
        ("compile", False, (GENERATED_CODE_DIFFERS,), True),
        ("compile", True, (GENERATED_CODE_DIFFERS,), False),
        ("compile", False, (), False),
        ("export", False, (GENERATED_CODE_DIFFERS,), False),
    ],
)
def test_a_right_graph_passes_whatever_is_made_of_it_on_inputs_that_nobody_declared(
    target: str, declared: bool, notes: tuple[str, ...], passed: bool
) -> None:
    found = Mismatch("x all nan", declared, target, "value", "nan", "0.0")
    result = TargetResult(target, "cpu", ok=True, mismatches=(found,))
    assert _passed(result, [found], Compilation((result,), notes=notes)) is passed
