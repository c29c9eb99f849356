"""The step of an optimizer is compiled alone; what trains by itself, or is no optimizer, is not."""

from __future__ import annotations

from pathlib import Path

import pytest
from packages import rows

STEP = """
    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group['params']:
                {line}
"""


def optimizer(base: str, line: str, before: str = "import torch") -> str:
    return f"{before}\n\n\nclass Careful({base}):{STEP.format(line=line)}"


@pytest.mark.parametrize(
    ("base", "before"),
    [
        ("torch.optim.Optimizer", "import torch"),
        ("Optimizer", "import torch\nfrom torch.optim import Optimizer"),
        ("Optimizer", "import torch\nfrom torch.optim.optimizer import Optimizer"),
        ("optim.Optimizer", "import torch\nimport torch.optim as optim"),
        ("torch.optim.SGD", "import torch"),
        ("AdamW", "import torch\nfrom torch.optim import AdamW"),
        ("Adam", "import torch\nfrom torch.optim.adam import Adam"),
    ],
)
@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("if p.grad.norm() > 0: p.sub_(p.grad)", 1),
        ("if p.grad is not None: p.sub_(p.grad)", 0),
        ("if p.grad.norm() > 0: (p * 2).sum().backward()", 0),
    ],
)
def test_the_step_of_an_optimizer(tmp_path: Path, base: str, before: str, line: str, found: int) -> None:
    assert len(rows(tmp_path, {"careful.py": optimizer(base, line, before)})) == found


@pytest.mark.parametrize("base", ["object", "Schedule", "torch.optim.lr_scheduler.StepLR"])
def test_a_step_of_something_else(tmp_path: Path, base: str) -> None:
    text = optimizer(base, "if p.grad.norm() > 0: p.sub_(p.grad)", "import torch\nfrom schedules import Schedule")
    assert rows(tmp_path, {"careful.py": text}) == []


def test_a_base_class_in_another_file(tmp_path: Path) -> None:
    base = "from torch.optim import Optimizer\n\n\nclass Base(Optimizer):\n    rate = 1\n"
    text = optimizer("Base", "if p.grad.norm() > 0: p.sub_(p.grad)", "import torch\nfrom kit.base import Base")
    assert len(rows(tmp_path, {"base.py": base, "careful.py": text})) == 1


def test_what_the_step_hands_on(tmp_path: Path) -> None:
    text = optimizer("torch.optim.Optimizer", "self.move(p, p.grad)")
    text += "\n    def move(self, p, grad):\n        if grad.norm() > 0:\n            p.sub_(grad)\n"
    assert len(rows(tmp_path, {"careful.py": text})) == 1
