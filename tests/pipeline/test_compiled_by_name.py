"""`compiled = [...]` in the configuration: functions and methods that nothing in the files says are compiled."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ddelint.pipeline.checking import run_check
from ddelint.report.model import Silence
from ddelint.settings.options import CheckOptions, Mode

SCORES = """\
import torch
from .helpers import narrow


def score(x: torch.Tensor):
    if x.sum() > 0:
        return narrow(x)
    return -x


class Metric:
    def update(self, x: torch.Tensor):
        return int(x.sum())

    def __len__(self):
        return len(torch.ones(3).nonzero())
"""
HELPERS = "import torch\n\n\ndef narrow(x: torch.Tensor):\n    return x if x.max() > 3 else -x\n"


@pytest.fixture
def package(tmp_path: Path) -> Path:
    for name, text in (("pkg/__init__.py", ""), ("pkg/functional/__init__.py", "")):
        (tmp_path / "src" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "src" / name).write_text(text)
    (tmp_path / "src/pkg/functional/scores.py").write_text(SCORES)
    (tmp_path / "src/pkg/functional/helpers.py").write_text(HELPERS)
    return tmp_path


@pytest.mark.parametrize(
    ("patterns", "found"),
    [
        ((), []),
        (("pkg.functional.*",), ["helpers.py:5", "scores.py:6", "scores.py:13"]),
        (("pkg.functional.scores.score",), ["helpers.py:5", "scores.py:6"]),
        (("pkg.*.score",), ["helpers.py:5", "scores.py:6"]),
        (("src.pkg.functional.helpers.*",), ["helpers.py:5"]),
        (("*.update",), ["scores.py:13"]),
        (("pkg.functional.scores",), []),
        (("other.*", "functional.*"), []),
    ],
)
def test_names(package: Path, patterns: tuple[str, ...], found: list[str]) -> None:
    options = CheckOptions(
        mode=Mode.STATIC, root=str(package), cache_folder=str(package / "cache"), public_functions=False
    )
    for _ in range(2):  # the second time, the cache knows
        report = run_check([str(package / "src")], replace(options, compiled=patterns), Silence())
        assert [f"{Path(d.span.filename).name}:{d.span.row}" for d in report.remaining] == found
    assert run_check([str(package / "src")], options, Silence()).remaining == ()


def test_a_file_by_itself(package: Path) -> None:
    options = CheckOptions(mode=Mode.STATIC, root=str(package), cache=False, compiled=("pkg.functional.*",))
    report = run_check([str(package / "src/pkg/functional/helpers.py")], options, Silence())
    assert [d.span.row for d in report.remaining] == [5]
