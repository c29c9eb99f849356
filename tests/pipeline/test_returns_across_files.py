"""What a function of another file returns is what it makes of the arguments of the call."""

from __future__ import annotations

from pathlib import Path

import pytest
from across import Tree

HELPERS = """
import torch
import torch.nn.functional as F
from .deeper import find


def found(mask):
    return torch.where(mask)


def count(x):
    return (x > 0).sum().item()


def both(x):
    return found(x), count(x)


def named(x):
    return {"rows": x.nonzero(), "whole": x}


def through(mask):
    return find(mask)


def scaled(x, factor=2):
    return x * factor


def limit(lengths, most=None):
    if most is None:
        most = lengths.max().item()
    return most


def itself(x):
    return itself(x) if x.dim() else count(x)


class Kept:
    pass


def made(x):
    return Kept()
"""

NET = """
import torch
from torch import nn
from . import helpers
from .helpers import both, count, found, itself, limit, made, named, scaled, through


class Net(nn.Module):
    def forward(self, x: torch.Tensor, mask: torch.Tensor, lengths: torch.Tensor):
        {body}
        return x
"""
ROW = 10


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    made = Tree(tmp_path)
    made.write("pkg/helpers.py", HELPERS)
    made.write("pkg/deeper.py", "import torch\n\n\ndef find(mask):\n    return mask.nonzero()\n")
    return made


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("rows = found(mask)[0]\n        if rows.shape[0] == 0: x = -x", ["11 DDE102"]),
        ("(rows,) = helpers.found(mask)\n        x = x if rows.numel() else -x", ["11 DDE102"]),
        ("if count(x) > 3: x = -x", ["10 DDE101"]),
        (
            "(a,), n = both(x)\n        if n == 3: x = -x\n        if a.shape[0] > 2: x = x + 1",
            ["11 DDE101", "12 DDE101"],
        ),
        ("rows = named(mask)['rows']\n        for row in rows: x = x + row", ["11 DDE203"]),
        ("if through(mask).shape[0] > 2: x = -x", ["10 DDE101"]),
        ("if scaled(x.nonzero()).shape[0] > 2: x = -x", ["10 DDE101"]),
        ("for _ in range(limit(lengths)): x = x + 1", ["10 DDE203"]),
        ("if both(x)[0][0].shape[0] > 2 and both(x)[1] > 2: x = -x", ["10 DDE101", "10 DDE101"]),
        ("for _ in range(limit(lengths, 4)): x = x + 1", []),
        ("for _ in range(limit(lengths, most=x.shape[0])): x = x + 1", []),
        ("if scaled(x).shape[0] > 2: x = -x", []),
        ("if named(x)['whole'].shape[0] > 2: x = -x", []),
        ("if itself(x): x = -x", ["10 DDE101"]),
        ("if made(x): x = -x", []),
    ],
)
def test_a_call(tree: Tree, body: str, found: list[str]) -> None:
    tree.write("pkg/net.py", NET.format(body=body))
    assert [place for place in tree.check() if place.startswith("net.py")] == [f"net.py:{place}" for place in found]


def test_the_cache_knows_what_was_returned(tree: Tree) -> None:
    tree.write("pkg/net.py", NET.format(body="if through(mask).shape[0] > 2: x = -x"))
    assert tree.check(cache=True) == tree.check(cache=True) == ["net.py:10 DDE101"]
    tree.write("pkg/deeper.py", "import torch\n\n\ndef find(mask):\n    return mask * 2\n")
    assert tree.check(cache=True) == tree.check(cache=True) == []
    tree.write("pkg/deeper.py", "import torch\n\n\ndef find(mask):\n    return mask.unique()\n")
    assert tree.check(cache=True) == tree.check(cache=True) == ["net.py:10 DDE101"]


def test_what_is_returned_is_as_it_is_in_one_file(tree: Tree) -> None:
    """The same functions beside the module give the same answers."""
    body = "rows = found(mask)[0]\n        if rows.shape[0] == 0 or count(x) > 3: x = -x"
    tree.write("pkg/net.py", NET.format(body=body))
    apart = tree.check("pkg")
    whole = HELPERS.replace("from .deeper import find\n", "def find(x):\n    return x\n")
    alone = NET.format(body=body).replace("from . import helpers\n", "").replace("from .helpers import", "# ")
    shift = whole.count("\n") - 1
    tree.write("alone.py", whole + alone)
    together = [
        f"net.py:{int(place.split()[0].split(':')[1]) - shift} {place.split()[1]}" for place in tree.check("alone.py")
    ]
    assert apart == together
