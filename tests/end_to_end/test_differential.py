"""What `check --fix` writes as safe does what the original did, in modes and on inputs that nobody declared.

Every sixth fixture is run; all of them with DDELINT_LONG=1.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from issues_table import check

pytestmark = pytest.mark.slow

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
PROGRAMS = sorted(
    [
        *FIXTURES.glob("rules/*/entry.py"),
        *FIXTURES.glob("programs/*.py"),
        *FIXTURES.glob("puzzles/*.py"),
        FIXTURES / "quickstart" / "model.py",
    ]
)
DRAWN = PROGRAMS[::6]


def unlike(original: Path, fixed: Path) -> str:
    """What the other program prints: a line for each difference."""
    command = [sys.executable, "-W", "ignore", str(Path(__file__).with_name("differ.py")), str(original), str(fixed)]
    environment = dict(os.environ, OMP_NUM_THREADS="1")
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_safe_fixes_change_nothing(program: Path, tmp_path: Path) -> None:
    if program not in DRAWN and not os.environ.get("DDELINT_LONG"):
        pytest.skip("waits for DDELINT_LONG=1: all of them take ten minutes")
    pytest.importorskip("torch")
    copy = tmp_path / f"{program.parent.name}_{program.name}"
    shutil.copy(program, copy)
    assert check(copy, "--fix").error == ""
    assert unlike(program, copy) == ""


ORIGINAL = """import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(2, 2)

    def forward(self, x):
        y = self.layer(x)
        if x[0].sum() > 0:
            y = y * 2
        return y


def make_inputs(seed):
    return (torch.randn(4, 2, generator=torch.Generator().manual_seed(seed)),)
"""
BRANCH = "        if x[0].sum() > 0:\n            y = y * 2\n"


@pytest.mark.parametrize(
    ("body", "seen"),
    [
        ("        y = torch.where(x[0].sum() <= 0, y, y * 2)\n", "nan at 0 of argument 0"),
        ("        y = torch.where(x[0].sum() > 0, y * 2.0001, y)\n", "seed 0"),
        ("        y = torch.where(x[0].sum() > 0, y * 2, y.detach())\n", "gradients on: gradient"),
        ("        y = torch.where(x[0].sum() > 0, y * 2, y).float()\n", "torch.float64"),
        ("        y = y * 2 if torch.compiler.is_compiling() or x[0].sum() > 0 else y\n", "compiled path"),
        ("        y = torch.where(x[0].sum() > 0, y * 2, y).view(4, 2)\n", "the batch twice"),
        ("        y = torch.where(x.view(-1)[:2].sum() > 0, y * 2, y)\n", "strided"),
        ("        y = torch.where(x[0].sum() > 0, y * 2, y) + self.training * 0.1\n", "train"),
    ],
)
def test_what_is_wrong_is_seen(body: str, seen: str, tmp_path: Path) -> None:
    original, fixed = tmp_path / "original.py", tmp_path / "fixed.py"
    original.write_text(ORIGINAL)
    fixed.write_text(ORIGINAL.replace(BRANCH, body))
    assert seen in unlike(original, fixed)


def test_what_is_right_is_not_seen(tmp_path: Path) -> None:
    original, fixed = tmp_path / "original.py", tmp_path / "fixed.py"
    original.write_text(ORIGINAL)
    fixed.write_text(ORIGINAL.replace(BRANCH, "        y = torch.where(x[0].sum() > 0, y * 2, y)\n"))
    assert unlike(original, fixed) == ""
