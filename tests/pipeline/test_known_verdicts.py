"""A second call on unchanged files reports what the first did, without running anything; any change is noticed."""

from __future__ import annotations

import os
import textwrap
from dataclasses import replace
from pathlib import Path

import pytest

from ddelint.pipeline.checking import run_check
from ddelint.report.json_ import render_report
from ddelint.report.model import Silence
from ddelint.settings.options import CheckOptions
from ddelint.trace.worker_process import Worker

PROGRAM = """
import torch

from limits import LEAST


def fn(x):
    hit = x[x > 0]
    if hit.shape[0] < LEAST:
        return torch.zeros(())
    return hit.sum()


def make_inputs(seed):
    torch.manual_seed(seed)
    return (torch.randn(8),)
"""


class Project:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.options = CheckOptions(root=str(folder), cache_folder=str(folder / ".ddelint_cache"), samples=16)
        self.write("model.py", PROGRAM)
        self.write("limits.py", "LEAST = 1\n")

    def write(self, name: str, text: str) -> None:
        path = self.folder / name
        path.write_text(textwrap.dedent(text), "utf-8")
        os.utime(path, ns=(10**18, 10**18))  # not changed just now

    def check(self, **changes: object) -> str:
        return render_report(run_check([str(self.folder)], replace(self.options, **changes), Silence()))


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.chdir(tmp_path)
    return Project(tmp_path)


@pytest.fixture
def starts(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Each time that a worker's process is started."""
    seen: list[str] = []
    begin = Worker.begin

    def counted(self: Worker) -> None:
        if not self._is_started:
            seen.append("started")
        begin(self)

    monkeypatch.setattr(Worker, "begin", counted)
    return seen


@pytest.mark.slow
def test_a_second_call_starts_nothing_and_says_the_same(project: Project, starts: list[str]) -> None:
    first = project.check()
    assert starts == ["started"]
    assert '"code": "DDE101"' in first

    assert project.check() == first
    assert starts == ["started"]
    assert project.check(cache=False) == first
    assert starts == ["started"] * 2


@pytest.mark.slow
def test_a_changed_file_that_the_entry_imports_is_noticed(project: Project, starts: list[str]) -> None:
    first = project.check()
    project.write("limits.py", "LEAST = 0\n")
    assert project.check() == project.check(cache=False) != first

    project.write("limits.py", "LEAST = 1\n")
    starts.clear()
    assert project.check() == first
    assert starts == []


@pytest.mark.slow
def test_what_was_not_found_out_is_found_out_by_the_second_call(project: Project, starts: list[str]) -> None:
    found = project.check(suggest=False)
    starts.clear()
    fixed = project.check()

    assert starts == ["started"]
    assert '"fix": null' in found
    assert fixed == project.check(cache=False)
