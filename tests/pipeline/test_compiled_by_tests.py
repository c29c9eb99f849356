"""What a project's tests and scripts compile or export is compiled in the files where it stands."""

from __future__ import annotations

from pathlib import Path

import pytest
from across import Tree

OPS = """
import torch


def keep(x):
    if x.sum() > 0:
        return x
    return -x


class Sampler:
    def draw(self, x):
        if x.max() > 0:
            return x
        return -x


class Metric(torch.nn.Module):
    def update(self, x):
        if x.max() > 0:
            return x
        return -x
"""
KEEP, DRAW, UPDATE = "ops.py:6 DDE105", "ops.py:13 DDE105", "ops.py:20 DDE105"


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("def test_it():\n    torch.compile(ops.keep, fullgraph=True)(torch.ones(3))\n", KEEP),
        ("def test_it():\n    for fn in (ops.keep, abs):\n        torch.compile(fn)\n", KEEP),
        ('@pytest.mark.parametrize("fn", [ops.keep, abs])\ndef test_it(fn):\n    torch.compile(fn)\n', KEEP),
        ('@pytest.mark.parametrize("n, fn", [(1, ops.keep)])\ndef test_it(n, fn):\n    torch.compile(fn)\n', KEEP),
        ("def test_it():\n    fast = torch.compile(lambda x: ops.keep(x))\n", KEEP),
        ("@torch.compile\ndef used(x):\n    return ops.keep(x) + 1\n", KEEP),
        ("def test_it():\n    def inner(x):\n        return ops.keep(x)\n    torch.compile(inner)\n", KEEP),
        (
            "def test_it():\n    class M(torch.nn.Module):\n        def forward(self, x):\n"
            "            return ops.keep(x)\n"
            "    torch.export.export(M(), (torch.ones(3),))\n",
            KEEP,
        ),
        ("def test_it():\n    sampler = ops.Sampler()\n    torch.compile(sampler.draw)\n", DRAW),
        ("def test_it():\n    torch.compile(ops.Sampler().draw)\n", DRAW),
        ("def test_it():\n    metric = ops.Metric()\n    torch.compile(metric.update, dynamic=True)\n", UPDATE),
    ],
)
def test_what_a_test_compiles(tmp_path: Path, body: str, found: str) -> None:
    tree = Tree(tmp_path)
    tree.write("pkg/ops.py", OPS)
    tree.write("tests/test_ops.py", f"import pytest\nimport torch\n\nfrom pkg import ops\n\n\n{body}")
    assert tree.check() == [found]


@pytest.mark.parametrize(
    "body",
    [
        "def test_it():\n    ops.keep(torch.ones(3))\n",
        "def test_it():\n    sampler = ops.Sampler()\n    torch.compile(torch.relu)(sampler.draw(torch.ones(3)))\n",
        "for fn in (ops.keep, abs):\n    fn(torch.ones(3))\n\n\nfast = torch.compile(torch.relu)\n",
    ],
)
def test_what_a_test_merely_calls(tmp_path: Path, body: str) -> None:
    tree = Tree(tmp_path)
    tree.write("pkg/ops.py", OPS)
    tree.write("tests/test_ops.py", f"import torch\n\nfrom pkg import ops\n\n\n{body}")
    assert tree.check() == []
