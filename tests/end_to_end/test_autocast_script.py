"""`ddelint run` on a training step under autocast: the fix is safe, for gradients were run with it and without."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

FIXTURE = Path(__file__).resolve().parents[2] / "fixtures" / "rules" / "DDE701" / "entry_train.py"


def ddelint(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "ddelint", "run", "--samples", "6", *arguments, "train.py"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_the_step_is_fixed(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    shutil.copy(FIXTURE, tmp_path / "train.py")
    (found,) = json.loads(ddelint("--output-format", "json", folder=tmp_path).stdout)
    assert (found["code"], found["fix"]["applicability"], found["evidence"]["backward"]) == ("DDE701", "safe", True)
    assert ddelint("--fix", folder=tmp_path).returncode == 0
    assert (tmp_path / "train.py").read_text() == FIXTURE.with_name("entry_train_fixed.py").read_text()
    again = ddelint("--output-format", "json", folder=tmp_path)
    assert json.loads(again.stdout) == []
