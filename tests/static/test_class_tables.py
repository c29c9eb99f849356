"""What attributes hold once constructors have run: a class adds to what its parent's constructors leave."""

from __future__ import annotations

from pathlib import Path

import pytest
from packages import rows

from ddelint.static.walk import class_tables

HEAD = """\
import torch
from torch import nn

"""
LINK = """\
class Link{number}({base}):
    def __init__(self, size: int = 3):
        super().__init__()
        self.layer{number} = nn.Linear(size, size)
        self.count{number} = torch.zeros(3)

    def forward(self, x):
        if self.count{above}.sum() > 3:
            return x
        return self.layer{number}(x)

"""


def chain(length: int) -> str:
    links = (
        LINK.format(number=number, base=f"Link{number - 1}" if number else "nn.Module", above=max(number - 1, 0))
        for number in range(length)
    )
    return HEAD + "\n".join(links)


def test_a_chain_of_heirs_runs_each_constructor_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs: list[object] = []
    construct = class_tables._construct

    def counted(walker, node, cls, table):  # type: ignore[no-untyped-def]
        runs.append(node)
        return construct(walker, node, cls, table)

    monkeypatch.setattr(class_tables, "_construct", counted)
    assert len(rows(tmp_path, {"chain.py": chain(40)})) == 40
    assert len(runs) == 40


BASE = """\
class Base(nn.Module):
    width = 3

    def __init__(self):
        super().__init__()
        self.state = self.make()
        self.flag = False
        self.late = torch.zeros(3)

    def make(self):
        return self.first()

    def first(self):
        return 3

    def switch(self, x):
        self.flag = x.any()
        self.late = 3

"""


@pytest.mark.parametrize(
    ("heir", "test", "found"),
    [
        ("pass", "self.state > 3", 0),
        ("def make(self):\n        return torch.zeros(3)", "self.state.sum() > 3", 1),
        ("def first(self):\n        return torch.zeros(3).sum()", "self.state > 3", 1),
        ("def unused(self):\n        return torch.zeros(3)", "self.state > 3", 0),
        ("state = torch.zeros(3)", "self.state > 3", 0),
        ("width = torch.zeros(1)", "self.width > 3", 1),
        ("def __init__(self):\n        super().__init__()\n        self.state = torch.zeros(1)", "self.state > 3", 1),
        ("def __init__(self):\n        super().__init__()\n        self.other = 3", "self.state > 3", 0),
        ("def __init__(self):\n        super().__init__()\n        self.late = torch.ones(3)", "self.late == 3", 1),
    ],
)
def test_what_an_heir_has_of_its_own(tmp_path: Path, heir: str, test: str, found: int) -> None:
    entry = f"def forward(self, x):\n        x = x * x.sum().item()\n        return x + 1 if {test} else x\n"
    text = f"{HEAD}{BASE}\nclass Heir(Base):\n    {heir}\n\n    {entry}"
    assert len(rows(tmp_path, {"heirs.py": text})) == found


def test_two_parents_each_leave_something(tmp_path: Path) -> None:
    text = f"""{HEAD}
class Left(nn.Module):
    def __init__(self):
        super().__init__()
        self.left = torch.zeros(1)

class Right(nn.Module):
    def __init__(self):
        super().__init__()
        self.right = torch.zeros(1)

class Both(Left, Right):
    def forward(self, x):
        if (self.left > 3).any():
            x = x + 1
        if self.right > 3:
            x = x + 1
        return x
"""
    assert len(rows(tmp_path, {"both.py": text})) == 2
