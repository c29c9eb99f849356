"""What comes of a check does not depend on how many processes it keeps busy."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """\
import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.head = torch.nn.Linear(4, 4)

    def forward(self, x, mask, n):
        if mask.any():
            x = self.head(x)
        if x.sum() > 0:
            x = x + 1
        else:
            x = x - 1
        rows = x[mask]
        if rows.shape[0] > 3:
            rows = rows[:3]
        width = n.item()
        return rows.sum(0), x.new_ones(width).sum()


def make_inputs(seed):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(6, 4, generator=generator)
    return x, torch.rand(6, generator=generator) > 0.5, torch.randint(1, 9, (), generator=generator)
"""


def found(folder: Path, jobs: int) -> object:
    program = folder / "model.py"
    arguments = ["--no-cache", "--unsafe-fixes", "--target", "export", "--output-format", "json", "-j", str(jobs)]
    done = subprocess.run(
        [sys.executable, "-m", "ddelint", "check", str(program), *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 1, done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
def test_the_same_is_found_and_fixed_however_many_processes_there_are(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(PROGRAM, "utf-8")
    one = found(tmp_path, 1)
    assert isinstance(one, list)
    assert sum(finding["fix"] is not None for finding in one) >= 3
    assert found(tmp_path, 3) == one
