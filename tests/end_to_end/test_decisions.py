"""A shortcut is one however its test is spelled: none of these spellings has a rule that lists the fix."""

from __future__ import annotations

from pathlib import Path

import pytest
from issues_table import check

pytestmark = pytest.mark.slow

PROGRAM = """import torch
{helper}

class Model(torch.nn.Module):
    def forward(self, scores, keep):
        rows = [torch.nonzero(row).flatten() for row in keep]
        {decision}:
            return scores.new_zeros(scores.shape[0])
        sums = [row[places].sum()[None] for row, places in zip(scores, rows)]
        return torch.cat([scores.new_zeros(0), *sums])


def make_inputs(seed):
    generator = torch.Generator().manual_seed(seed)
    scores = torch.rand(2, 4, generator=generator)
    return scores, scores > 0.6
"""
SPELLINGS = {
    "built-in": ("", "if all(len(row) <= 0 for row in rows)"),
    "kept": ("", "nothing = not any(len(row) for row in rows)\n        if nothing"),
    "helper": ("\n\ndef largest(rows):\n    return max(map(len, rows))\n", "if (n := largest(rows)) == 0"),
}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_the_shortcut_is_asked_only_in_eager(spelling: str, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    helper, decision = SPELLINGS[spelling]
    path = tmp_path / "program.py"
    path.write_text(PROGRAM.format(helper=helper, decision=decision))
    left = check(path, "--fix")
    assert (left.error, left.codes) == ("", [])
    assert "not torch.compiler.is_compiling() and" in path.read_text("utf-8")


HIDDEN = """import torch


def pace(strength):
    x = strength - strength.mean()
    if {test}:
        return torch.ones(())
    return torch.stack([(x[:-lag] * x[lag:]).sum() for lag in range(2, 8)]).argmax() + 2.0


def fn(strength, start):
    return start // (pace(strength) // 2).clamp(min=1).long()


def make_inputs(seed):
    generator = torch.Generator().manual_seed(seed)
    strength = torch.rand(16, generator=generator) * (2 if seed % 4 else 0)
    return strength, torch.randint(0, 30, (6,), generator=generator)
"""


@pytest.mark.parametrize("test", ["x.pow(2).sum().item() < 1e-6", "not x.pow(2).sum() >= 1e-6"])
def test_what_is_hidden_by_what_comes_behind_is_no_shortcut(test: str, tmp_path: Path) -> None:
    """All inputs on which it returns early give the same without it, for half of two is one: others need not."""
    pytest.importorskip("torch")
    path = tmp_path / "program.py"
    path.write_text(HIDDEN.format(test=test))
    left = check(path, "--fix")
    assert (left.error, left.codes) == ("", [])
    assert "torch.where(" in path.read_text("utf-8")
    assert "guard_or" not in path.read_text("utf-8")


LAST_ROWS = """import torch

UNBACKED = {0: [0]}


def fn(x, most):
    count = x.shape[0]
    kept = min(count, 5)
    return x.narrow(0, count - kept, kept).cumsum(0) * most


def make_inputs(seed):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn((7, 3, 5, 1, 0, 12)[seed % 6], 2, generator=generator), torch.ones(())
"""


def test_a_region_that_makes_an_earlier_fix_needless_is_written(tmp_path: Path) -> None:
    """Only Inductor asks, of the gradient; the fix of `min` is not needed beside an operator that goes around it."""
    pytest.importorskip("torch")
    path = tmp_path / "program.py"
    path.write_text(LAST_ROWS)
    left = check(path, "--fix", "--unsafe-fixes")
    assert (left.error, left.codes) == ("", [])
    text = path.read_text("utf-8")
    check(path, "--fix", "--unsafe-fixes")
    assert path.read_text("utf-8") == text
