"""Numbers of Python's that a rewrite rounds to single precision: seen in double precision, unless that holds them."""

from __future__ import annotations

import textwrap
from collections.abc import Callable

import pytest
from test_eager import decision

from ddelint.nouns.protocol import Comparison, SessionOptions
from ddelint.trace.entry import Entry
from ddelint.verify.eager import compare

Program = Callable[..., Entry]

WARM_UP = """
import torch

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(3, 3)

    def forward(self, x, step):
        n = step.item()
        {factor}
        return self.fc(x) * factor

def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    n = 10 + seed if seed % 2 else 5 * (seed % 4 == 0) if seed < 5 else 3 + seed % 5
    return torch.randn(2, 3, generator=g), torch.tensor(n)
"""
BRANCH = "if n < 10:\n            factor = n / 10\n        else:\n            factor = 1.0"


def judged(program: Program, options: SessionOptions, branch: str, rewritten: str) -> Comparison:
    first = program(textwrap.dedent(WARM_UP.replace("{factor}", branch)))
    second = program(textwrap.dedent(WARM_UP.replace("{factor}", rewritten)))
    return compare(first, lambda: second, (decision(first, "n < 10"),), options, 32, False)


@pytest.mark.parametrize("value", ["n / 10", "0.1 * n + 0.5", "(n + 1) ** -0.5"])
def test_a_fraction_that_single_precision_rounds(program: Program, options: SessionOptions, value: str) -> None:
    """The first inputs of its side give 0.5, 0 and 1, which it holds."""
    branch = BRANCH.replace("n / 10", value)
    asks = "torch.full((), n < 10, dtype=torch.bool)"
    found = judged(program, options, branch, f"factor = torch.where({asks}, {value}, 1.0)")
    assert all(found.sides["d"])
    assert "value" in {m.aspect for m in found.mismatches if "in double precision" in m.sample}
    wide = f"torch.full((), {value}, dtype=torch.float64)"
    kept = judged(program, options, branch, f"factor = torch.where({asks}, {wide}, 1.0)")
    assert not [m for m in kept.mismatches if "in double precision" in m.sample]
