"""What the backward pass of a program leaves behind is compared: of an arm that is not chosen, too."""

from __future__ import annotations

import textwrap
from collections.abc import Callable

import pytest

from ddelint.nouns.protocol import Comparison, SessionOptions
from ddelint.trace.entry import Entry
from ddelint.verify.eager import compare
from ddelint.verify.mismatches import LATER, TRACED_PATH

Program = Callable[..., Entry]

COUNTERS = {
    "a buffer, by a function of autograd's": "Counted.apply(y * 0.5, self.trained)",
    "a buffer, by a hook": "hooked(y * 0.5, lambda grad: self.trained.add_(1))",
    "a list of the module's": "hooked(y * 0.5, lambda grad: self.norms.append(float(grad.norm())))",
    "a global": "hooked(y * 0.5, lambda grad: SEEN.append(1))",
}
TEXT = """
    SEEN = []

    class Counted(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, trained):
            ctx.trained = trained
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            ctx.trained.add_(1)
            return grad, None

    def hooked(x, hook):
        x.register_hook(lambda grad: hook(grad) and None)
        return x

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.main = torch.nn.Linear(3, 3)
            self.register_buffer("trained", torch.zeros(()))
            self.norms = []

        def forward(self, x):
            y = self.main(x)
            loud = x.abs().max() > 1.5
            DECIDED
            return y

    def make_inputs(seed):
        return (torch.randn(2, 3, generator=torch.Generator().manual_seed(seed)),)
"""
BRANCH = "y = y + COUNTED if loud else y"
BOTH = "y = torch.where(loud, y + COUNTED, y)"
WHILE_COMPILING = (
    "y = torch.where(loud, y + COUNTED, y) if torch.compiler.is_compiling() else y + COUNTED if loud else y"
)


def judged(program: Program, options: SessionOptions, counted: str, decided: str) -> Comparison:
    first, second = (
        program(textwrap.dedent(TEXT).replace("DECIDED", text).replace("COUNTED", counted))
        for text in (BRANCH, decided)
    )
    return compare(first, lambda: second, (), options, 16, False)


@pytest.mark.parametrize("counted", COUNTERS.values(), ids=COUNTERS)
def test_gradients_of_what_is_not_chosen_leave_something_behind(
    program: Program, options: SessionOptions, counted: str
) -> None:
    found = judged(program, options, counted, BOTH)
    assert not found.equal
    assert LATER in {mismatch.aspect for mismatch in found.mismatches if mismatch.where == "eager"}
    assert judged(program, options, counted, BRANCH).mismatches == ()


def test_so_they_do_on_the_path_that_is_compiled(program: Program, options: SessionOptions) -> None:
    found = judged(program, options, COUNTERS["a buffer, by a function of autograd's"], WHILE_COMPILING)
    assert {m.where for m in found.mismatches if m.aspect == LATER} == {TRACED_PATH}


def test_an_effect_that_the_gradient_decides_is_kept(program: Program, options: SessionOptions) -> None:
    found = judged(program, options, "hooked(y * 0.5, lambda grad: self.trained.add_(grad.any()))", BOTH)
    assert LATER not in {mismatch.aspect for mismatch in found.mismatches}
