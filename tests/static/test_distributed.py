"""A file that is all there is of a distribution is an interface, as a package's are; any other script is none."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from packages import checked

from ddelint.static.program.distributed import is_distributed

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
        ({"pyproject.toml": '[build-system]\n\n[project]\n# ours\nname = "careful"\n'}, "careful.py"),
        ({"setup.cfg": "[metadata]\nversion = 1\nname = careful\n"}, "careful.py"),
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
        ({"pyproject.toml": '[project]\nname = "other"\n\n[[project.authors]]\nname = "careful"\n'}, "careful.py"),
        ({"pyproject.toml": '[tool.runner]\nname = "careful"\n'}, "careful.py"),
        ({"setup.cfg": "[metadata]\nversion = 1\n[tool:runner]\nname = careful\n"}, "careful.py"),
    ],
)
def test_a_file_beside_others(tmp_path: Path, beside: dict[str, str], name: str) -> None:
    assert found(tmp_path, beside, name) == []


def test_what_was_remembered_of_a_file_before_it_was_distributed(tmp_path: Path) -> None:
    text = "from torch import Tensor\n\ndef clean(x: Tensor) -> Tensor:\n    return x if (x > 0).any() else -x\n"
    (tmp_path / "careful.py").write_text(text)

    def seen() -> int:
        program = [sys.executable, "-m", "ddelint", "check", ".", "--static"]
        environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "caches")}
        done = subprocess.run(program, cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert done.returncode in (0, 1)
        return done.stdout.count("DDE")

    before = seen()
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "careful"\n')
    assert (before, seen() > 0) == (0, True)
    (tmp_path / "pyproject.toml").unlink()
    assert seen() == 0


def test_what_a_process_remembers_of_a_folder(tmp_path: Path) -> None:
    path = tmp_path / "careful.py"
    path.touch()
    settings, installed = tmp_path / "pyproject.toml", tmp_path / "careful-1.dist-info"
    seen = [is_distributed(str(path))]
    for text in ('[project]\nname = "careful"\n', '[project]\nname = "reckless"\n'):
        settings.write_text(text)
        seen.append(is_distributed(str(path)))
    installed.mkdir()
    (installed / "RECORD").write_text("careful.py,sha256=x,20\n")
    os.utime(tmp_path, ns=(1, 1))
    seen.append(is_distributed(str(path)))
    assert seen == [False, True, False, True]
