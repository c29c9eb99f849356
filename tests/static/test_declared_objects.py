"""Methods of objects that a module is handed, or declares, are compiled with what calls them."""

from __future__ import annotations

from pathlib import Path

import pytest
from packages import rows

RULES = """\
import torch

class Rule:
    limit = 3

    def pick(self, x: torch.Tensor):
        if (x > self.limit).any():
            x = x + 1
        return x

class Called:
    def __call__(self, x: torch.Tensor, n: int) -> float:
        if (x > n).any():
            x = x + 1
        return float(n)
"""
MODULE = """\
import torch
from torch import nn
from typing import List, Optional, Union
from kit import rules
from kit.rules import Called, Rule

class Net(nn.Module):
    {declared}

    def forward(self, x):
        return {used}
"""


def kept(header: str, line: str) -> str:
    return f"def __init__({header}):\n        super().__init__()\n        {line}"


@pytest.mark.parametrize(
    ("declared", "used"),
    [
        (kept("self, rule: Rule", "self.rule = rule"), "self.rule.pick(x)"),
        (kept("self, n: int, rule: 'Optional[Rule]' = None, k=3", "self.rule = rule"), "self.rule.pick(x)"),
        (kept("\n        self,\n        rule: rules.Rule,  # how\n    ", "self.my = rule"), "self.my.pick(x)"),
        (kept("self, rule: Rule | None = None", "self.rule = rule or Rule()"), "self.rule.pick(x)"),
        (kept("self, rule: Union[Rule, int]", "self.rule = rule if rule else None"), "self.rule.pick(x)"),
        (kept("self, rule", "self.rule: Rule = rule"), "self.rule.pick(x)"),
        ("rule: Rule", "self.rule.pick(x)"),
        ('rule: "rules.Rule"  # how', "self.rule.pick(x)"),
        (kept("self, called: Called", "self.called = called"), "self.called(x, 3)"),
    ],
)
def test_what_an_object_is_declared_to_be(tmp_path: Path, declared: str, used: str) -> None:
    files = {"rules.py": RULES, "net.py": MODULE.format(declared=declared, used=used)}
    assert [name for name, _ in rows(tmp_path, files)] == ["rules.py"]


@pytest.mark.parametrize(
    ("declared", "used"),
    [
        (kept("self, rule: Rule", "self.rule = rule"), "self.rule.other(x)"),
        (kept("self", "rule: Rule = make(self)"), "self.rule.pick(x)"),
        (kept("self, rule: Rule", "self.rule = rule"), "x"),
        (kept("self, rule: Rule", "self.rule = rule.name"), "self.rule.pick(x)"),
        (kept("self, rule: Rule", "self.rule = rule(3)"), "self.rule.pick(x)"),
        (kept("self, rule: int", "self.rule = rule"), "self.rule.pick(x)"),
        (kept("self, rule", "self.rule = rule"), "self.rule.pick(x)"),
    ],
)
def test_what_says_nothing_of_the_object(tmp_path: Path, declared: str, used: str) -> None:
    assert rows(tmp_path, {"rules.py": RULES, "net.py": MODULE.format(declared=declared, used=used)}) == []
