"""What Dynamo and export ask, one error after the other."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ddelint.sources.source import SourceFile
from ddelint.trace.front_ends import asked_by, front_ends_of
from ddelint.trace.session import Session

Write = Callable[..., Path]
Open = Callable[..., Session]

pytestmark = pytest.mark.slow

BEHIND_AN_OPERATOR = """
    @torch.library.custom_op("ddelint_front_ends::positive", mutates_args=())
    def positive(x: torch.Tensor) -> torch.Tensor:
        return x[x > 0].clone()

    class Model(torch.nn.Module):
        def forward(self, x):
            y = positive(x)
            if y.shape[0] > 3:
                y = y * 2
            return y + 1 if y.sum().item() > 5 else y

    def make_inputs(seed):
        return (torch.linspace(-1, seed, 8),)
"""


@pytest.mark.parametrize("target", ["export", "strict", "compile"])
def test_front_ends_go_on_behind_an_operator_that_has_no_fake_kernel(target: str, write: Write, opened: Open) -> None:
    path = write(BEHIND_AN_OPERATOR)
    session = opened(path)
    traced = session.trace({}).questions
    sources = {str(path): SourceFile.read(path)}

    alone = asked_by(session, sources, target)
    assert [question.expression for question in alone.questions] == ["positive(x)"]
    assert not alone.complete

    asked = asked_by(session, sources, target, traced=traced)
    assert [question.expression for question in asked.questions] == [
        "positive(x)",
        "y.shape[0] > 3",
        "y.sum().item() > 5",
    ]
    assert asked.complete
    assert all(front_ends_of(question.span, [asked]) == (target,) for question in traced)
