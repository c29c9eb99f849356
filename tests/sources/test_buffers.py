"""Which buffers never change, and where their values are read."""

from __future__ import annotations

import ast

import pytest

from ddelint.sources.buffers import constant_reads, is_buffer, made_of_constants
from ddelint.sources.source import SourceFile

TEXT = """\
import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("sizes", torch.tensor([1, 2]), persistent=False)
        self.register_buffer("limit", torch.tensor(3))
        self.register_buffer("seen", torch.zeros(()))
        self.register_buffer("filled", torch.zeros(2), False)
        self.shape = torch.tensor([4])

    def forward(self, x, i):
        self.seen += 1
        self.filled[0] = 1
        return ASKS
"""


def source(asks: str) -> SourceFile:
    return SourceFile("model.py", TEXT.replace("ASKS", asks), "utf-8")


def asking(of: SourceFile) -> ast.expr:
    returned = next(node for node in ast.walk(of.tree) if isinstance(node, ast.Return))
    assert returned.value is not None
    return returned.value


@pytest.mark.parametrize(
    ("asks", "reads"),
    [
        ("self.sizes.tolist()", [("sizes", "self.sizes.tolist()", True, False)]),
        ("self.limit.item()", [("limit", "self.limit.item()", False, True)]),
        ("int(self.sizes[i])", [("sizes", "self.sizes[i]", False, False)]),
        ("self.sizes[-1].item() + 1", [("sizes", "self.sizes[-1].item()", False, False)]),
        ("x if self.limit else -x", [("limit", "self.limit", False, True)]),
        ("x if i and not self.limit > 2 else -x", [("limit", "self.limit", False, True)]),
        ("int(self.shape)", [("shape", "self.shape", False, False)]),
        ("x + self.limit", []),
        ("self.limit.sum()", []),
        ("self.sizes[x > 0].tolist()", []),
        ("self.seen.item()", []),
        ("self.filled.tolist()", []),
        ("self.other.item()", []),
    ],
)
def test_reads(asks: str, reads: list[tuple[str, str, bool, bool]]) -> None:
    of = source(asks)
    found = constant_reads(of, asking(of))
    assert [(r.buffer.name, ast.unparse(r.node), r.listed, r.buffer.saved) for r in found] == reads


@pytest.mark.parametrize(
    ("asks", "constant"),
    [
        ("int(self.sizes[0])", True),
        ("self.limit.item() > int(self.shape)", True),
        ("self.limit.item() > x.sum()", False),
        ("self.limit.item() > i", False),
        ("x.shape[0] > 2", False),
    ],
)
def test_what_hangs_on_constants_alone(asks: str, constant: bool) -> None:
    of = source(asks)
    assert made_of_constants(of, asking(of)) is constant


def test_a_buffer_that_changes_is_a_buffer_all_the_same() -> None:
    of = source("x")
    at = asking(of)
    assert [name for name in ("self.seen", "self.sizes", "self.linear", "seen") if is_buffer(of, at, name)] == [
        "self.seen",
        "self.sizes",
    ]
