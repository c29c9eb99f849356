"""Where a program asks whether torch has what it has for years, the way for an old torch is dead."""

from __future__ import annotations

from pathlib import Path

import pytest
from packages import rows

TEXT = """
{head}
import torch

class Poly(torch.nn.Module):
    def forward(self, x: torch.Tensor, n: torch.Tensor):
        if {test}:
            return torch.special.legendre_polynomial_p(x, n)
        if (n == 0).all():
            return x
        return x * n
"""


@pytest.mark.parametrize(
    ("head", "test"),
    [
        ("", "hasattr(torch.special, 'legendre_polynomial_p')"),
        ("import torch.nn.functional as F", "hasattr(F, 'scaled_dot_product_attention')"),
        ("from torch.nn import functional", "hasattr(functional, 'rms_norm')"),
        ("from torch import linalg as la", "hasattr(la, 'svdvals') and True"),
        ("import torch.fft", "not (not hasattr(torch.fft, 'rfft'))"),
    ],
)
def test_what_torch_has(tmp_path: Path, head: str, test: str) -> None:
    assert rows(tmp_path, {"poly.py": TEXT.format(head=head, test=test)}) == []


@pytest.mark.parametrize(
    ("head", "test"),
    [
        ("", "hasattr(torch, 'rfft')"),
        ("", "hasattr(x, 'special')"),
        ("", "hasattr(self, 'linalg')"),
        ("", "not hasattr(torch.special, 'legendre_polynomial_p')"),
        ("import scipy.special as special", "hasattr(special, 'legendre_p')"),
        ("", "hasattr(torch.special, 'legendre_polynomial_p') and self.fast"),
    ],
)
def test_what_it_may_lack(tmp_path: Path, head: str, test: str) -> None:
    assert rows(tmp_path, {"poly.py": TEXT.format(head=head, test=test)}) == [("poly.py", 9)]


@pytest.mark.parametrize(
    ("head", "test"),
    [
        ("import torch.nn.functional as F", "hasattr(F, self.name)"),
        ("from torch import nn", "hasattr(nn, str(n))"),
        ("from torch import nn; NAME = input()", "hasattr(nn, NAME)"),
        ("import torch.nn.functional as F", "hasattr(F, f'{self.name}_')"),
    ],
)
def test_a_name_that_somebody_gives(tmp_path: Path, head: str, test: str) -> None:
    assert rows(tmp_path, {"poly.py": TEXT.format(head=head, test=test)}) == [("poly.py", 9)]
