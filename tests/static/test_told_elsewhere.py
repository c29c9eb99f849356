"""A package's own function that tells whether it is compiled, in another file than where it is asked."""

from __future__ import annotations

from pathlib import Path

import pytest
from packages import rows

CHECKS = """
import torch
from torch.compiler import is_compiling as _compiling


def told() -> bool:
    return {told}


def _inner() -> bool:
    if torch.jit.is_scripting():
        return False
    return _compiling()
"""
MODEL = """
import torch

from .checks import told


class Model(torch.nn.Module):
    def forward(self, x):
        {shortcut}
            return x
        return x * 2
"""


@pytest.mark.parametrize(
    ("told", "found"),
    [
        ("torch.compiler.is_compiling()", 0),
        ("_compiling()", 0),
        ("_compiling() or torch.jit.is_scripting()", 0),
        ("_inner() or _compiling()", 0),
        ("not torch.compiler.is_compiling()", 1),
        ("torch.jit.is_scripting()", 1),
        ("torch.cuda.is_available()", 1),
    ],
)
@pytest.mark.parametrize("shortcut", ["if not told() and x.sum() > 3:", "if x.sum() > 3 if not told() else False:"])
def test_what_is_asked_in_eager_alone_is_no_question(tmp_path: Path, told: str, found: int, shortcut: str) -> None:
    files = {"checks.py": CHECKS.format(told=told), "model.py": MODEL.format(shortcut=shortcut)}
    assert len(rows(tmp_path, files)) == found


def test_a_return_where_it_is_compiled_ends_what_is_traced(tmp_path: Path) -> None:
    files = {
        "checks.py": CHECKS.format(told="_compiling()"),
        "model.py": MODEL.format(shortcut="if told():\n            return x\n        if x.sum() > 3:"),
    }
    assert rows(tmp_path, files) == []
