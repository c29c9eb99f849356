"""Weights with rows of zeros, and a NaN in a fifth argument: what is computed and not chosen reads them."""

from __future__ import annotations

import textwrap
from collections.abc import Callable

import pytest
import torch
from test_eager import decision

from ddelint.nouns.protocol import Comparison, SessionOptions
from ddelint.trace.entry import Entry
from ddelint.verify.eager import compare
from ddelint.verify.mismatches import POISONED
from ddelint.verify.modes import pruned
from ddelint.verify.samples import Sample

Program = Callable[..., Entry]

EXPERTS = """
import torch

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weights = torch.nn.Parameter(torch.rand(3, 4))
        self.register_buffer("scales", torch.tensor([0.5, 0.25, 1.0]))
        self.gate = torch.nn.Parameter(torch.tensor(0.5))

    def forward(self, x, routes):
        out = torch.zeros_like(x)
        for e in range(3):
            chosen = (routes == e)[:, None]
            {step}
        return out

def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(5, 4, generator=g), torch.randint(0, 2 + seed % 2, (5,), generator=g)
"""


def judged(program: Program, options: SessionOptions, value: str, rewritten: str) -> Comparison:
    begin = "if chosen.any():\n                out = out + "
    first = program(textwrap.dedent(EXPERTS.replace("{step}", begin + value)))
    second = program(textwrap.dedent(EXPERTS.replace("{step}", rewritten)))
    return compare(first, lambda: second, (decision(first, "chosen.any()"),), options, 32, False)


@pytest.mark.parametrize(
    "value",
    [
        "torch.tanh(x) / self.scales[e] * chosen",
        "torch.log(self.weights[e].abs() + 0 * x) * chosen",
        "(x * self.scales[e].rsqrt()) * chosen",
        "torch.nn.functional.cosine_similarity(x, self.weights[e], eps=0).unsqueeze(1) * chosen",
    ],
)
def test_what_divides_by_a_pruned_weight_is_no_zero_times_anything(
    value: str, program: Program, options: SessionOptions
) -> None:
    found = judged(program, options, value, f"out = out + {value}")
    assert any("weight zero" in mismatch.sample for mismatch in found.mismatches)


@pytest.mark.parametrize(
    ("value", "rewritten"),
    [
        ("x * self.scales[e] * chosen", "out = out + x * self.scales[e] * chosen"),
        (
            "torch.tanh(x / self.scales[e]) * chosen",
            "out = torch.where(chosen, out + torch.tanh(x / torch.where(chosen, self.scales[e], 1)), out)",
        ),
    ],
)
def test_what_is_right_for_pruned_weights_stays_so(
    value: str, rewritten: str, program: Program, options: SessionOptions
) -> None:
    assert not any("weight zero" in m.sample for m in judged(program, options, value, rewritten).mismatches)


def test_each_saved_weight_has_a_row_of_zeros() -> None:
    model = torch.nn.BatchNorm1d(2)
    model.register_parameter("gate", torch.nn.Parameter(torch.ones(())))
    model.register_buffer("ramp", torch.ones(3), persistent=False)
    (change,) = pruned(model)
    changed = change(Sample("seed 0", True, lambda: ((), {}))).prepare(model)
    zeros = {name: t.tolist() for name, t in [*changed.named_parameters(), *changed.named_buffers()]}
    assert zeros == {
        "weight": [1.0, 0.0],
        "bias": [0.0, 0.0],
        "gate": 0.0,
        "running_mean": [0.0, 0.0],
        "running_var": [1.0, 0.0],
        "num_batches_tracked": 0,
        "ramp": [1.0, 1.0, 1.0],
    }
    assert list(pruned(torch.nn.ReLU())) == []


SENSORS = """
import torch

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fused, self.spare = (torch.nn.Parameter(torch.ones(4)) for _ in range(2))

    def forward(self, a, b, c, trust, backup):
        if trust.mean() > 0.4:
            return (a + b + c) * self.fused + 0 * self.spare
        return backup * self.spare + 0 * self.fused

def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    a, b, c, backup = (torch.randn(4, generator=g) for _ in range(4))
    return a, b, c, torch.rand(3, generator=g), backup
"""
BRANCH = SENSORS[SENSORS.index("        if trust") : SENSORS.index("\n\ndef make")]
BOTH = """        first = trust.mean() > 0.4
        one = torch.where(first, a + b + c, 0.0) * self.fused + 0 * self.spare
        other = {other} * self.spare + 0 * self.fused
        return torch.where(first, one, other)"""


@pytest.mark.parametrize("beside", [" + 0 * self.spare", ""])
@pytest.mark.parametrize(("other", "is_wrong"), [("backup", True), ("torch.where(first, 0.0, backup)", False)])
def test_a_nan_in_the_fifth_argument_spoils_the_gradient_of_what_it_is_multiplied_with(
    other: str, is_wrong: bool, beside: str, program: Program, options: SessionOptions
) -> None:
    both = BOTH.replace("{other}", other)
    texts = [text.replace(" + 0 * self.spare", beside) for text in (SENSORS, SENSORS.replace(BRANCH, both))]
    first, second = (program(textwrap.dedent(text)) for text in texts)
    found = compare(first, lambda: second, (decision(first, "trust.mean() > 0.4"),), options, 32, False)
    assert any("backup one nan" in m.sample for m in found.mismatches if m.aspect == POISONED) is is_wrong
