"""`ddelint run` on real scripts: what they compile is checked with their arguments, and fixed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
MODEL = """\
import torch


class Router(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Linear(4, 4)

    def forward(self, x, mask):
        kept = mask.sum().item()
        if kept > 2:
            return self.scale(x) * 2
        return self.scale(x)
"""
UNRELATED = """\
import torch


class Unrelated(torch.nn.Module):
    def forward(self, x):
        if x.sum().item() > 1:
            return x
        return -x
"""
TRAIN = """\
import argparse

import torch
from model import Router

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, required=True)
parser.add_argument("--fix", action="store_true")
options = parser.parse_args()
net = Router()
compiled = torch.compile(net)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(options.steps):
    print("step", step, options.fix)
    optimizer.zero_grad()
    loss = compiled(torch.randn(6, 4), mask=torch.arange(6) < step).square().mean()
    loss.backward()
    optimizer.step()
"""
LIGHTNING_LIKE = """\
import torch
from model import Router


class Module(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.router = Router()

    def training_step(self, batch, index):
        x, mask = batch
        return self.router(x, mask).sum()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


class Trainer:
    def fit(self, module, batches):
        optimizer = module.configure_optimizers()
        module.training_step = torch.compile(module.training_step)
        for index, batch in enumerate(batches):
            optimizer.zero_grad()
            module.training_step(batch, index).backward()
            optimizer.step()


if __name__ == "__main__":
    Trainer().fit(Module(), [(torch.randn(5, 4), torch.rand(5) > p) for p in (0.1, 0.9)])
    raise RuntimeError("out of data")
"""
MIXED = """\
import torch
from model import Router

net = Router()
fast = torch.compile(net)
with torch.autocast("cpu", torch.bfloat16):
    fast(torch.randn(6, 4), torch.rand(6) > 0.5)
with torch.inference_mode():
    fast(torch.randn(6, 4), torch.rand(6) > 0.5)
    net.eval()
    fast(torch.randn(6, 4), torch.rand(6) > 0.5)
"""
TEST = """\
import torch
from model import Router


def test_router():
    assert torch.compile(Router())(torch.ones(3, 4), torch.ones(3) > 0).shape == (3, 4)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in (("model", MODEL), ("unrelated", UNRELATED), ("train", TRAIN), ("test_router", TEST)):
        (tmp_path / f"{name}.py").write_text(text)
    (tmp_path / "fit.py").write_text(LIGHTNING_LIKE)
    return tmp_path


def ddelint(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-P", "-m", "ddelint", *arguments],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
        check=False,
    )


def found(done: subprocess.CompletedProcess[str]) -> list[tuple[str, str, int]]:
    return [(f["code"], Path(f["filename"]).name, f["location"]["row"]) for f in json.loads(done.stdout)]


def test_a_training_script_is_checked_and_fixed(folder: Path) -> None:
    done = ddelint(
        folder,
        "run",
        "--output-format",
        "json",
        "--save-inputs",
        "inputs.safetensors",
        "train.py",
        "--steps",
        "3",
        "--fix",
    )
    assert (done.returncode, found(done)) == (1, [("DDE101", "model.py", 11)]), done.stderr
    assert "model.py:Router, inputs from its first 3 calls in train.py" in done.stderr
    (finding,) = json.loads(done.stdout)
    assert "trace" in finding["origin"]
    assert finding["evidence"]["backward"]
    assert (folder / "model.py").read_text() == MODEL, "the script's own --fix is none of ours"

    again = ddelint(
        folder, "check", "model.py", "--entry", "Router", "--inputs", "inputs.safetensors", "--output-format", "json"
    )
    assert found(again) == found(done), again.stderr
    assert "inputs from inputs.safetensors" in again.stderr

    fixed = ddelint(folder, "run", "--fix", "train.py", "--steps", "3")
    assert (fixed.returncode, fixed.stdout.splitlines()[0]) == (0, "Fixed 1 error in 1 file:"), fixed.stderr
    assert "if kept > 2" not in (folder / "model.py").read_text()
    assert ddelint(folder, "run", "train.py", "--steps", "2").stdout.startswith("All checks passed!")


def test_a_compiled_training_step_of_a_script_that_fails_later(folder: Path) -> None:
    done = ddelint(folder, "run", "--output-format", "json", "fit.py")
    assert found(done) == [("DDE101", "model.py", 11)], done.stderr
    assert "fit.py raised RuntimeError: out of data (fit.py:30); going on with what it had captured" in done.stderr


def test_one_program_in_several_surroundings_is_told_once(folder: Path) -> None:
    (folder / "mixed.py").write_text(MIXED)
    done = ddelint(folder, "run", "--output-format", "json", "mixed.py")
    assert found(done) == [("DDE101", "model.py", 11)], done.stderr
    assert done.stderr.count("running model.py:Router, inputs from its first call in mixed.py") == 3
    fixed = ddelint(folder, "run", "--fix", "mixed.py")
    assert (fixed.returncode, fixed.stdout.splitlines()[0]) == (0, "Fixed 1 error in 1 file:"), fixed.stderr


def test_tests_are_a_script_too(folder: Path) -> None:
    done = ddelint(
        folder, "run", "--output-format", "concise", "--path", "model.py", "-m", "pytest", "-q", "test_router.py"
    )
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("model.py:11:12: DDE101 [*] ")
    assert "`ddelint run --path model.py --fix -m pytest -q test_router.py`" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("unrelated.py",), "made no call of torch.compile, torch.export.export or draft_export"),
        (
            ("--capture-modules", "Rooter", "train.py"),
            "or of a module that matches Rooter; it ended with exit code 2 (train.py: error: ",
        ),
        (("nowhere.py",), "no such script: nowhere.py"),
        (("-m", "nowhere"), "no module named nowhere"),
    ],
)
def test_nothing_to_check_is_one_line(folder: Path, arguments: tuple[str, ...], message: str) -> None:
    done = ddelint(folder, "run", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert done.stderr.startswith("ddelint: error: ")
    assert done.stderr.count("\n") == 1


def test_comments_in_files_that_no_program_runs_are_left_alone(folder: Path) -> None:
    text = UNRELATED.replace("> 1:", "> 1:  # ddelint: ignore[DDE101]")
    (folder / "unrelated.py").write_text(text)
    (folder / "small.py").write_text("import torch\n\ntorch.compile(lambda x: x + 1)(torch.ones(3))\n")
    done = ddelint(folder, "run", "--fix", "--select", "DDE003", "--target", "export", "small.py")
    assert (done.returncode, "All checks passed!" in done.stdout) == (0, True), done.stderr
    assert (folder / "unrelated.py").read_text() == text
