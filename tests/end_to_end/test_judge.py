"""The judge must see what is wrong: a judge that finds everything fine proves nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from judge import Judge, header

pytest.importorskip("torch")

ORIGINAL = '''"""A branch on a sum.

kind: branch
fix: torch.where
unfixable: no
"""
import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x):
        if x.sum() > 0:
            return x * 2
        return x - 1


def make_inputs(seed):
    return (torch.tensor([1.0, -3.0, 2.0]) * (1 if seed % 2 else -1) + seed % 3,)
'''
BRANCH = """        if x.sum() > 0:
            return x * 2
        return x - 1
"""


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    with Judge() as running:
        yield running


@pytest.fixture
def original(tmp_path: Path) -> Path:
    path = tmp_path / "original.py"
    path.write_text(ORIGINAL)
    return path


def rewritten(original: Path, body: str) -> Path:
    path = original.with_name("rewritten.py")
    path.write_text(ORIGINAL.replace(BRANCH, body))
    return path


def test_header(original: Path) -> None:
    read = header(original)
    assert (read.title, read.kind, read.unfixable, read.control) == ("A branch on a sum.", "branch", False, False)


def test_a_branch_on_data_fails_everywhere(judge: Judge, original: Path) -> None:
    verdict = judge(original)
    assert verdict.fails
    assert [verdict.targets[name].traced for name in ("export", "strict", "compile")] == [False, False, False]
    assert "derived" not in verdict.targets  # there is no 0-d argument
    assert "data-dependent" in verdict.targets["export"].error


def test_a_right_rewrite_is_clean(judge: Judge, original: Path) -> None:
    body = "        return torch.where(x.sum() > 0, x * 2, x - 1)\n"
    verdict = judge(original, rewritten(original, body), eager_seeds=8)
    assert verdict.clean
    assert verdict.eager_differences == []


@pytest.mark.parametrize(
    ("body", "difference"),
    [
        ("        return torch.where(x.sum() > 0, x * 2, x - 2)\n", "value"),
        ("        return torch.where(x.sum() > 0, x * 2, x - 1).double()\n", "dtype"),
        ("        return torch.where(x.sum() > 0, x * 2, x - 1).unsqueeze(0)\n", "shape"),
        ("        return [torch.where(x.sum() > 0, x * 2, x - 1)]\n", "type"),
        ("        torch._check(x.sum().item() > 0)\n        return x * 2\n", "exception: none became RuntimeError"),
        ("        y = torch.where(x.sum() > 0, x * 2, x - 1)\n        x.zero_()\n        return y\n", "value"),
        (
            "        self.calls += 1\n        return torch.where(x.sum() > 0, x * 2, x - 1)\n",
            "value",
        ),
    ],
    ids=["value", "dtype", "shape", "type", "exception", "argument", "buffer"],
)
def test_a_wrong_rewrite_is_seen_in_eager(judge: Judge, original: Path, body: str, difference: str) -> None:
    verdict = judge(original, rewritten(original, body), eager_seeds=8, targets=())
    assert verdict.eager_differences
    assert difference in verdict.eager_differences[0]
    assert not verdict.clean


def test_a_traced_program_that_differs_is_seen(judge: Judge, original: Path) -> None:
    body = "        if torch.compiler.is_compiling() or x.sum() > 0:\n            return x * 2\n        return x - 1\n"
    verdict = judge(original, rewritten(original, body), eager_seeds=8)
    assert verdict.eager_differences == []
    for name in ("export", "compile"):
        assert verdict.targets[name].traced
        assert verdict.targets[name].mismatched
    assert not verdict.clean


def test_a_value_burned_in_is_seen_by_the_clone(judge: Judge, tmp_path: Path) -> None:
    path = tmp_path / "specialized.py"
    path.write_text(
        "import torch\n\n\ndef fn(x, n):\n    return x * 2 if n.item() > 1 else x\n\n\n"
        "def make_inputs(seed):\n    return torch.ones(2), torch.tensor(seed % 4)\n"
    )
    verdict = judge(path, seeds=4, targets=("compile", "derived"))
    assert verdict.targets["compile"].ok
    assert verdict.targets["compile"].graphs == 2
    assert not verdict.targets["derived"].traced


def test_a_crash_and_an_endless_loop_are_verdicts(judge: Judge, tmp_path: Path) -> None:
    crash = tmp_path / "crash.py"
    crash.write_text("import os\n\nos._exit(3)\n")
    assert "ended" in judge(crash).failure
    endless = tmp_path / "endless.py"
    endless.write_text("while True:\n    pass\n")
    assert judge(endless, timeout=1.0).failure == "ran out of time"
    assert judge(crash).failure  # the judge itself is still there


def test_each_seed_finds_the_state_of_a_fresh_module(judge: Judge, tmp_path: Path) -> None:
    path = tmp_path / "stateful.py"
    counting = "        self.calls.add_(1)\n        return x * self.calls\n"
    path.write_text(ORIGINAL.replace(BRANCH, counting))
    verdict = judge(path, targets=("export", "compile"), eager_seeds=4, seeds=4)
    assert {target: str(found) for target, found in verdict.targets.items()} == {"export": "ok", "compile": "ok"}
