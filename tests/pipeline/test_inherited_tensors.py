"""Buffers and parameters that the constructor of a class in another file makes are tensors in its heirs."""

from __future__ import annotations

from pathlib import Path

import pytest
from across import Tree

BASE = """
import torch
from torch import nn


class Base(nn.Module):
    def __init__(self, {given}):
        super().__init__()
        {sets}
"""
HEIR = """
import torch
{imports}


class Heir({base}):
    def forward(self, x):
        {test}
            return x
        return -x
"""


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


def found(
    tree: Tree, sets: str, test: str, imports: str = "from pkg.base import Base", base: str = "Base", given: str = "n=1"
) -> list[str]:
    """What is found where the heir's `forward` begins with a test."""
    tree.write("pkg/base.py", BASE.format(sets=sets, given=given))
    tree.write("pkg/heir.py", HEIR.format(imports=imports, base=base, test=test))
    return tree.check()


@pytest.mark.parametrize(
    ("sets", "test"),
    [
        ('self.register_buffer("frozen", torch.tensor(n))', "if self.frozen:"),
        ('self.register_buffer("frozen", make(n), persistent=False)', "if self.frozen == True:"),
        ("self.scale = nn.Parameter(torch.ones(1))", "while self.scale > 1:"),
        ('self.register_buffer(\n            "steps", torch.zeros(())\n        )', "if not self.steps > 3:"),
        ('for name in "ab":\n            self.register_parameter("gain", nn.Parameter(n))', "if self.gain < 0:"),
        ("self.scale: torch.Tensor = torch.nn.Parameter(n)", "if n > 1 or self.scale:"),
    ],
)
def test_what_a_base_makes_is_a_tensor(tree: Tree, sets: str, test: str) -> None:
    assert [one.partition(" ")[0] for one in found(tree, sets, test)] == ["heir.py:8"]


@pytest.mark.parametrize(
    ("sets", "test", "given"),
    [
        ("self.limit = n", "if self.limit > 1:", "n=1"),
        ('self.register_buffer("mask", None)', "if self.mask:", "n=1"),
        ("self.gain = nn.Parameter(n) if n else 1.0", "if self.gain > 1:", "n=1"),
        ("self.gain = 1.0\n        if n:\n            self.gain = nn.Parameter(n)", "if self.gain > 1:", "n=1"),
        ("self.width = len(limit)", "if self.limit > 1:", "\n        limit: torch.Tensor,\n    "),
    ],
)
def test_what_may_be_something_else_is_left_alone(tree: Tree, sets: str, test: str, given: str) -> None:
    assert found(tree, sets, test, given=given) == []


@pytest.mark.parametrize(
    ("imports", "base"),
    [
        ("from . import base", "base.Base"),
        ("from .base import Base as Shared", "Shared"),
        ("from .between import Between", "Between"),
        ("from .between import *", "Between"),
        ("from .base import Base\n\n\nclass Own(Base):\n    pass", "Own"),
    ],
)
def test_however_the_base_is_reached(tree: Tree, imports: str, base: str) -> None:
    tree.write("pkg/between.py", "from .base import Base\n\n\nclass Between(Base):\n    pass\n")
    assert len(found(tree, 'self.register_buffer("frozen", n)', "if self.frozen:", imports, base)) == 1


def test_what_the_heir_sets_itself_counts(tree: Tree) -> None:
    own = "from .base import Base\n\n\nclass Own(Base):\n    def __init__(self):\n        self.frozen = False"
    assert found(tree, 'self.register_buffer("frozen", n)', "if self.frozen:", own, "Own") == []


def test_a_method_that_only_the_base_calls_is_read(tree: Tree) -> None:
    calls = 'self.register_buffer("frozen", n)\n\n    def forward(self, x):\n        return self.add(x)'
    tree.write("pkg/base.py", BASE.format(sets=calls, given="n"))
    tree.write("pkg/heir.py", HEIR.format(imports="from .base import Base", base="Base", test="if self.frozen:"))
    tree.write("pkg/heir.py", (tree._root / "src/pkg/heir.py").read_text().replace("forward", "add"))
    assert tree.check() == ["heir.py:8 DDE105"]


def test_another_base_is_noticed(tree: Tree) -> None:
    assert found(tree, "self.frozen = n", "if self.frozen:") == tree.check(cache=True) == []
    tree.write("pkg/base.py", BASE.format(sets='self.register_buffer("frozen", n)', given="n"))
    assert tree.check(cache=True) == ["heir.py:8 DDE105"]
