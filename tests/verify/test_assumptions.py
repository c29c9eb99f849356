"""Answers that torch guesses while exporting, told only where a replay shows that the guess was wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from ddelint.nouns.protocol import SessionOptions, TargetResult
from ddelint.trace import torch_internals
from ddelint.trace.entry import Entry
from ddelint.verify.compiled import compile_targets


def exported(program: Callable[..., Any], keep: list[bool]) -> TargetResult:
    args = (torch.randn(6, 4), torch.tensor(keep))
    entry = Entry("test", "", lambda: program, lambda seed: (args, {}), False, ("x", "keep"))
    options = SessionOptions(entry=None, paths=(__file__,))  # type: ignore[arg-type]
    (result,) = compile_targets(entry, lambda: entry, ("export",), options, 16, "eager").results
    return result


THREE = [True, True, True, False, False, False]


def into_slots(x: torch.Tensor, keep: torch.Tensor) -> torch.Tensor:
    rows = x[keep]
    scaled = rows * 2 + torch.ones(1, 4)
    return scaled + torch.ones(3, 4)


def test_a_row_that_is_broadcast_only_in_eager_is_found_at_its_sum() -> None:
    result = exported(into_slots, THREE)
    assert not result.ok
    (question,) = result.questions
    assert (question.kind, question.expression, question.span.row) == (
        "assumed",
        "rows.shape[0] != 1",
        into_slots.__code__.co_firstlineno + 3,
    )
    assert "keep one true: exception differs" in question.detail


def test_a_guess_that_was_first_made_for_a_layout_is_told_where_it_was_used() -> None:
    def program(x: torch.Tensor, keep: torch.Tensor) -> torch.Tensor:
        places = keep.nonzero()
        share = (places + 1) / 8
        return share < torch.ones(2, 3, 4)

    (question,) = exported(program, THREE).questions
    assert question.kind == "assumed"
    assert question.expression.startswith("places.shape[0]")
    assert question.span.row == program.__code__.co_firstlineno + 3


def test_a_guess_that_makes_no_difference_is_not_told() -> None:
    def program(x: torch.Tensor, keep: torch.Tensor) -> torch.Tensor:
        return x[keep] * 2 + torch.ones(1, 4)

    result = exported(program, THREE)
    assert result.ok
    assert result.questions == ()


def test_what_the_program_itself_refuses_is_not_told() -> None:
    def program(x: torch.Tensor, keep: torch.Tensor) -> torch.Tensor:
        rows = x[keep]
        torch._check(rows.shape[0] == 3)
        return rows + torch.ones(3, 4)

    assert exported(program, THREE).questions == ()


def test_torchs_own_methods_are_back_in_place() -> None:
    before = {name: getattr(torch_internals.ShapeEnv, name) for name in ("_log_suppressed_dde",)}
    with torch_internals.watched_assumptions(lambda condition, answer: None, lambda condition: None):
        assert torch_internals.ShapeEnv._log_suppressed_dde is not before["_log_suppressed_dde"]
    assert torch_internals.ShapeEnv._log_suppressed_dde is before["_log_suppressed_dde"]
