"""Questions that only Inductor asks, when it lowers what Dynamo and the joint graph let through."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.nn import functional as F

from ddelint.nouns.diagnostics import Question
from ddelint.nouns.protocol import LOWERING, Compilation, SessionOptions
from ddelint.trace import torch_internals
from ddelint.trace.entry import Entry
from ddelint.verify.compiled import compile_targets


def lowered(program: Callable[..., Any], *args: Any, samples: int = 0) -> Compilation:
    entry = Entry("test", "", lambda: program, lambda seed: (args, {}), False, ("x",))
    options = SessionOptions(entry=None, paths=(__file__,))  # type: ignore[arg-type]
    return compile_targets(entry, lambda: entry, ("compile",), options, samples, LOWERING)


def question(program: Callable[..., Any], *args: Any) -> Question:
    (result,) = lowered(program, *args).results
    (found,) = result.questions
    return found


def over_rows(x: torch.Tensor) -> torch.Tensor:
    rows = x[x[:, 0] > -1]
    return 2 * F.conv1d(rows.T[None], torch.ones(2, 4, 3), padding=1)


def corner(x: torch.Tensor) -> torch.Tensor:
    rows = x[x[:, 0] > -1]
    return rows.diagonal() + 1


only_inductor = pytest.mark.skipif(
    not hasattr(torch_internals.ShapeEnv, "optimization_hint"),
    reason="waits for torch 2.13: earlier releases ask for the length of a convolution before Inductor does",
)


@only_inductor
def test_the_call_is_blamed_whose_lowering_asks() -> None:
    found = question(over_rows, torch.randn(8, 4))
    assert (found.kind, found.asks) == ("integer", ("inductor",))
    assert found.expression == "F.conv1d(rows.T[None], torch.ones(2, 4, 3), padding=1)"


def test_what_inductor_says_of_its_own_sizes_is_a_question_too() -> None:
    found = question(corner, torch.randn(8, 4))
    assert (found.kind, found.expression) == ("failure", "rows.diagonal()")


def test_what_is_lowered_runs_as_the_graph() -> None:
    (result,) = lowered(lambda x: x[x[:, 0] > 0].sum(0), torch.randn(8, 4), samples=8).results
    assert result.ok, result
    assert result.replayed >= 1


@pytest.mark.parametrize("program", [pytest.param(over_rows, marks=only_inductor), corner])
def test_nothing_before_inductor_asks(program: Callable[..., Any]) -> None:
    torch.export.export(_Module(program), (torch.randn(8, 4),), strict=False)
    with torch_internals.compile_settings(recompiles=4):
        torch.compile(program, backend="aot_eager", fullgraph=True)(torch.randn(8, 4))
        with pytest.raises(Exception, match="LoweringException"):
            torch.compile(program, backend="inductor", fullgraph=True)(torch.randn(8, 4))


class _Module(torch.nn.Module):
    def __init__(self, program: Callable[..., Any]) -> None:
        super().__init__()
        self.program = program

    def forward(self, x: torch.Tensor) -> Any:
        return self.program(x)
