"""A file that is all there is of a distribution is an interface, as a package's are; any other script is none."""

from __future__ import annotations

from pathlib import Path

import pytest
from packages import checked

OPTIMIZER = """
import torch

class Careful(torch.optim.Optimizer):
    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad.norm() > 0:
                    p.sub_(p.grad)

def clean(x: torch.Tensor) -> torch.Tensor:
    return x + 1 if x.any() else x
"""


def found(folder: Path, beside: dict[str, str], name: str = "careful.py") -> list[int]:
    for where, text in {**beside, name: OPTIMIZER}.items():
        (folder / where).parent.mkdir(parents=True, exist_ok=True)
        (folder / where).write_text(text)
    return [row for _, row in checked(folder, folder / name)]


@pytest.mark.parametrize(
    ("beside", "name"),
    [
        ({"careful_optim-1.0.dist-info/RECORD": "careful.py,sha256=x,20\nother-1.dist-info/X,,\n"}, "careful.py"),
        (
            {"pyproject.toml": '[project]\nname = "careful-optim"\n[tool.setuptools]\npy-modules = ["careful"]\n'},
            "careful.py",
        ),
        ({"pyproject.toml": '[project]\nname = "careful"\n'}, "careful.py"),
        ({"pyproject.toml": '[project]\nname = "very-careful"\n'}, "src/very_careful.py"),
        (
            {"setup.py": "from setuptools import setup\nsetup(name='x', py_modules=['careful', 'other'])\n"},
            "careful.py",
        ),
        ({"setup.cfg": "[metadata]\nname = x\n\n[options]\npy_modules =\n    careful\n"}, "careful.py"),
    ],
)
def test_a_file_that_people_install(tmp_path: Path, beside: dict[str, str], name: str) -> None:
    assert found(tmp_path, beside, name) == [9, 13]


@pytest.mark.parametrize(
    ("beside", "name"),
    [
        ({}, "careful.py"),
        ({"other-1.0.dist-info/RECORD": "other.py,sha256=x,20\ncareful/more.py,,\n"}, "careful.py"),
        ({"pyproject.toml": '[project]\nname = "other"\ndescription = "careful"\n'}, "careful.py"),
        ({"pyproject.toml": '[project]\nname = "careful"\n'}, "scripts/careful.py"),
        ({"setup.py": "from setuptools import setup\nsetup(packages=['careful'])\n"}, "careful.py"),
        ({"pyproject.toml": '[project]\nname = "train"\n'}, "train.py"),
    ],
)
def test_a_file_beside_others(tmp_path: Path, beside: dict[str, str], name: str) -> None:
    assert found(tmp_path, beside, name) == []
