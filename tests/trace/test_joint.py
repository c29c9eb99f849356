"""Questions that only the joint graph of forward and backward asks."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from tracing import entry_of

from ddelint.nouns.protocol import TraceResult
from ddelint.trace import torch_internals
from ddelint.trace.explorer import Explorer


def trace(program: Any, *args: Any, gradients: bool = True) -> TraceResult:
    explorer = Explorer(entry_of(program, *args), (__file__,), gradients=gradients)
    explorer.explore()
    return explorer.result()


class Scan(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.project = torch.nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        rows = self.project(x)[x[:, 0] > 0]
        return rows.sigmoid().cumsum(0)


def test_the_call_is_blamed_whose_gradient_asks() -> None:
    (question,) = trace(Scan, torch.randn(6, 4)).questions
    assert (question.joint, question.kind, question.asks) == (True, "truth", ("joint",))
    assert question.expression == "4*rows.shape[0] <= 1"
    assert question.types["rows.sigmoid()"].shape == ("u0", "4")
    assert [frame.function for frame in question.frames if frame.inside] == ["Scan.forward"]


def test_torch_compile_asks_the_same_when_it_trains() -> None:
    compiled = torch.compile(Scan(), backend="aot_eager", fullgraph=True)
    with torch_internals.compile_settings(recompiles=8), pytest.raises(Exception, match=r"expression 4\*u0 <= 1"):
        compiled(torch.randn(6, 4))


def test_nothing_asks_without_gradients() -> None:
    def program(x: torch.Tensor) -> torch.Tensor:
        return x[x[:, 0] > 0].cumsum(0)

    assert trace(program, torch.randn(6, 4)).questions == ()
    assert trace(Scan, torch.randn(6, 4), gradients=False).questions == ()


def test_both_sides_of_a_gradient_are_explored() -> None:
    (question,) = trace(Scan, torch.randn(6, 4)).questions
    assert set(question.answers) == {"true", "false"}


class Levels(torch.nn.Module):
    """Returns what `unique` gives."""

    def __init__(self) -> None:
        super().__init__()
        self.project = torch.nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> Any:
        levels = self.project(x).round()
        values, counts = levels.unique(return_counts=True)
        return values.sum(), counts


class LevelsCounted(Levels):
    """Only compares what `unique` gives."""

    def forward(self, x: torch.Tensor) -> Any:
        levels = self.project(x).round()
        return levels.sum(), (torch.unique(levels) > 0).sum()


def test_a_call_without_a_derivative_is_blamed_where_its_result_comes_out() -> None:
    (question,) = trace(Levels, torch.randn(6, 4)).questions
    assert (question.joint, question.kind, question.asks) == (True, "other", ("joint",))
    assert (question.expression, question.detail) == (
        "levels.unique(return_counts=True)",
        "the joint graph needs a derivative, and torch has none of this call",
    )


def test_what_has_no_derivative_and_needs_none_is_no_finding() -> None:
    assert trace(LevelsCounted, torch.randn(6, 4)).questions == ()
    assert trace(Levels, torch.randn(6, 4), gradients=False).questions == ()


def test_torch_compile_stops_where_a_derivative_is_missing() -> None:
    with torch_internals.compile_settings(recompiles=8), pytest.raises(Exception, match="is not implemented"):
        torch.compile(Levels(), backend="aot_eager", fullgraph=True)(torch.randn(6, 4))


class _Scaled(torch.autograd.Function):  # type: ignore[misc]
    @staticmethod
    def forward(ctx: Any, rows: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(rows)
        return rows * 2

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        (rows,) = ctx.saved_tensors
        if rows.shape[0] > 3:
            return gradient * 2
        return gradient + gradient


def test_a_backward_of_the_users_own_is_blamed_itself() -> None:
    def program(x: torch.Tensor) -> torch.Tensor:
        return _Scaled.apply(x[x[:, 0] > 0])  # type: ignore[no-any-return]

    (question,) = trace(program, torch.randn(6, 4, requires_grad=True)).questions
    assert (question.expression, question.joint) == ("rows.shape[0] > 3", True)


def test_what_the_forward_asks_already_is_told_once() -> None:
    def program(x: torch.Tensor) -> torch.Tensor:
        return x[x[:, 0] > 0].logsumexp(0)  # the forward asks whether it is empty, its gradient asks again

    questions = trace(program, torch.randn(6, 4, requires_grad=True)).questions
    assert [question.joint for question in questions] == [False]


def test_a_gradient_that_cannot_be_taken_is_no_question() -> None:
    class Broken(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, rows: torch.Tensor) -> torch.Tensor:
            return rows * 2

        @staticmethod
        def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
            raise ValueError("no gradient here")

    def program(x: torch.Tensor) -> torch.Tensor:
        return Broken.apply(x[x[:, 0] > 0])  # type: ignore[no-any-return]

    result = trace(program, torch.randn(6, 4, requires_grad=True))
    assert result.questions == ()
    assert result.runs == 1


class _Chosen(Scan):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        rows = self.project(x)[x[:, 0] > 0]
        return rows.sigmoid().cumsum(0) if x.sum() > 0 else rows


@pytest.mark.parametrize(("program", "expected"), [(Scan, [True]), (_Chosen, [False])])
def test_what_the_forward_asks_may_come_first(program: Any, expected: list[bool]) -> None:
    explorer = Explorer(entry_of(program, torch.randn(6, 4)), (__file__,), gradients=True)
    explorer.forward_first = True
    explorer.explore()
    assert [question.joint for question in explorer.result().questions] == expected
