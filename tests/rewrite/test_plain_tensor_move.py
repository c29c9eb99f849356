"""A tensor that is made a plain one: while compiling it is taken as it is."""

from __future__ import annotations

import pytest
from control_flow import context_of, rewritten

PROGRAM = "{imported}\n\n\nclass M(torch.nn.Module):\n    def forward(self, x):\n        return {returned}\n"


@pytest.mark.parametrize(
    ("imported", "call", "returned", "expected"),
    [
        (
            "import torch",
            "x.as_subclass(torch.Tensor)",
            "x.as_subclass(torch.Tensor)",
            "x if torch.compiler.is_compiling() else x.as_subclass(torch.Tensor)",
        ),
        (
            "import torch",
            "x.as_subclass(torch.Tensor)",
            "x.as_subclass(torch.Tensor).to(torch.float64)",
            "(x if torch.compiler.is_compiling() else x.as_subclass(torch.Tensor)).to(torch.float64)",
        ),
        (
            "import torch\nfrom torch import Tensor",
            "(x + 1).as_subclass(Tensor)",
            "(x + 1).as_subclass(Tensor)",
            "x + 1 if torch.compiler.is_compiling() else (x + 1).as_subclass(Tensor)",
        ),
        ("import torch\nfrom points import Tensor", "x.as_subclass(Tensor)", "x.as_subclass(Tensor)", ""),
        ("import torch", "x.as_subclass(type(self))", "x.as_subclass(type(self))", ""),
        ("import torch", "x.view_as(torch.Tensor)", "x.view_as(torch.Tensor)", ""),
    ],
)
def test_a_plain_tensor_is_taken_as_it_is_while_compiling(
    imported: str, call: str, returned: str, expected: str
) -> None:
    context = context_of(PROGRAM.format(imported=imported, returned=returned), call)
    found = [PROGRAM.format(imported=imported, returned=expected)] if expected else []
    assert rewritten("plain_while_compiling", context) == found
