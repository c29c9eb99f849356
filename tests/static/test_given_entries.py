"""A class that is given another `forward`: the function is compiled where it stands."""

from __future__ import annotations

from pathlib import Path

import pytest
from packages import checked

PATCH = """import torch
import types
import engine

def _fast(self, x, mask=None):
    x = x.contiguous()
    if (x > 0).any():
        x = x + 1
    return x

{given}
"""


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("engine.Model.forward = _fast", 1),
        ("def patch(model):\n    model.forward = _fast", 1),
        ("def patch(model):\n    model.forward = types.MethodType(_fast, model)", 1),
        ("for layer in engine.layers():\n    layer.attention.forward = _fast\n", 1),
        ("from types import MethodType\n\ndef patch(model):\n    model.forward = MethodType(_fast, model)", 1),
        ("engine.Model.backward = _fast", 0),
        ("engine.Model.forward = engine._fast", 0),
        ("engine.Model.forward == _fast", 0),
    ],
)
def test_a_function_that_becomes_a_forward(tmp_path: Path, given: str, found: int) -> None:
    (tmp_path / "patch.py").write_text(PATCH.format(given=given))
    assert len(checked(tmp_path, tmp_path / "patch.py")) == found
