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


KIT = (
    RULES
    + """\

class Soft(Rule):
    def pick(self, x: torch.Tensor):
        return x if x.all() else x + 1

RULES = {"hard": Rule, "soft": Soft}

def build(name):
    return Soft() if name == "soft" else Rule()
"""
)
CHOSEN = """\
import torch
from torch import nn
from kit.rules import RULES, Called, Rule, Soft, build

HERE = {{"soft": Soft}}

class Net(nn.Module):
    def __init__(self, name, rule=None, **kwargs):
        super().__init__()
        {kept}

    def forward(self, x):
        return {used}
"""


@pytest.mark.parametrize(
    ("kept", "used", "found"),
    [
        ("self.rule = RULES[name]()", "self.rule.pick(x)", 2),
        ("self.rule = RULES.get(name, Rule)(**kwargs)", "self.rule.pick(x)", 2),
        ("made = RULES[name]\n        self.rule = made()", "self.rule.pick(x)", 2),
        ("self.made = RULES[name]", "self.made().pick(x)", 2),
        ("self.rule = HERE[name]()", "self.rule.pick(x)", 1),
        ("self.rule = build(name)", "self.rule.pick(x)", 2),
        ("self.rules = [Rule(), Soft()]", "[rule.pick(x) for rule in self.rules]", 2),
        ("self.rules = {n: made() for n, made in RULES.items()}", "self.rules[x.ndim].pick(x)", 2),
        ("self.rule = rule if rule is not None else Soft()", "self.rule.pick(x)", 1),
        ("self.rule = kwargs.get('rule', Soft())", "self.rule.pick(x)", 1),
        ("self.name = name", "RULES[self.name]().pick(x)", 2),
        ("self.rule = RULES[name]()", "self.rule.other(x)", 0),
        ("self.rule = str(RULES)", "self.other.pick(x)", 0),
        ("self.rule = 'Rule'", "self.rule.pick(x)", 0),
        ("self.rule = kwargs['Soft']", "self.rule.pick(x)", 0),
    ],
)
def test_an_object_of_one_of_several_classes(tmp_path: Path, kept: str, used: str, found: int) -> None:
    files = {"rules.py": KIT, "net.py": CHOSEN.format(kept=kept, used=used)}
    assert [name for name, _ in rows(tmp_path, files)] == ["rules.py"] * found


def test_what_prepares_data_is_not_compiled_with_who_holds_it(tmp_path: Path) -> None:
    net = CHOSEN.format(kept="self.rule = RULES[name]()", used="self.rule.pick(x)").replace(
        "kit.rules", "kit.processor"
    )
    assert rows(tmp_path, {"processor.py": KIT, "net.py": net}) == []
