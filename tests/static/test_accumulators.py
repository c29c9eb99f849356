"""What takes tensors and keeps them until it is reset is an interface; what makes steps, or prepares, is none."""

from __future__ import annotations

from pathlib import Path

import pytest
from packages import rows

TEXT = """
import torch
from torch import Tensor

class {name}{bases}:
    def {method}(self, x: {taken}, at: Tensor | None = None) -> {given}:
        if torch.isnan(x.min()):
            x = torch.nan_to_num(x)
        self.total = self.total + x
        return x

    def {reset}(self) -> None:
        self.total = 0
{more}
"""
SAID = {"name": "Running", "bases": "", "method": "batch", "taken": "Tensor", "given": "Tensor", "reset": "reset"}


def found(tmp_path: Path, front: str = "from kit.running import {name}\n", more: str = "", **given: str) -> list[int]:
    words = {**SAID, **given}
    files = {"running.py": TEXT.format(**words, more=more), "__init__.py": front.format(**words)}
    return [row for _, row in rows(tmp_path, files)]


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"bases": "(object)", "reset": "reset_states"},
        {"method": "accumulate", "given": "tuple[Tensor, Tensor]"},
        {"taken": "torch.Tensor", "given": "'torch.Tensor'", "reset": "reset_state"},
        {"front": "from .running import {name} as Stats\n"},
    ],
)
def test_what_gathers_tensors(tmp_path: Path, given: dict[str, str]) -> None:
    assert found(tmp_path, **given) == [7]


@pytest.mark.parametrize(
    "given",
    [
        {"reset": "clear"},
        {"more": "    def step(self, action: Tensor) -> Tensor:\n        return action\n"},
        {"front": ""},
        {"name": "_Running"},
        {"method": "_batch"},
        {"given": "float"},
        {"given": "None"},
        {"method": "fit"},
    ],
)
def test_what_does_something_else(tmp_path: Path, given: dict[str, str]) -> None:
    assert found(tmp_path, **given) == []


SORTED = """
import torch

class Ranked(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        means = []
        for row in x.unbind(0):
            means.append(row.mean().item())
        return x[[place for _, place in {ranked}]]
"""


@pytest.mark.parametrize(
    ("ranked", "asked"),
    [
        ("sorted((mean, place) for place, mean in enumerate(means))", 1),
        ("sorted([((mean, 1), place) for place, mean in enumerate(means)], reverse=True)", 1),
        ("sorted(zip(means, range(len(means))))", 1),
        ("sorted((place, place) for place, mean in enumerate(means))", 0),
        ("list((mean, place) for place, mean in enumerate(means))", 0),
    ],
)
def test_pairs_are_compared_by_what_stands_first(tmp_path: Path, ranked: str, asked: int) -> None:
    assert [row for _, row in rows(tmp_path, {"ranked.py": SORTED.format(ranked=ranked)})] == [9] * asked
