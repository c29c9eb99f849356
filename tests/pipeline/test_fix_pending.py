"""A finding without a fix says whether there is none, or none was worked out."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from ddelint.pipeline import checking, static_fixing
from ddelint.pipeline.checking import run_check
from ddelint.pipeline.gathering import Run
from ddelint.report.json_ import render_report
from ddelint.report.model import Silence
from ddelint.settings.options import CheckOptions, Mode

TEXT = """\
import torch


class Model(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        if x.max() > 3:
            return x
        return x * int(x.sum()), x + int(x.min())
"""


@pytest.mark.parametrize(("offered", "pending"), [(50, 0), (2, 0), (1, 2)])
def test_findings(offered: int, pending: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(static_fixing, "OFFERED", offered)
    (tmp_path / "model.py").write_text(TEXT)
    options = CheckOptions(mode=Mode.STATIC, cache=False, root=str(tmp_path))
    for chosen in (options, replace(options, suggest=False)):
        report = run_check([str(tmp_path / "model.py")], chosen, Silence())
        found = json.loads(render_report(report))
        fixes = {d["location"]["row"]: d["fix"] for d in found}
        assert len(found) == 3
        assert fixes[6] is None
        expected = pending if chosen.suggest else 2
        assert sum(d["fix_pending"] for d in found) == expected
        assert sum(d["fix"] is not None for d in found) == 2 - expected


ELSEWHERE = TEXT.replace("class Model", "class Other")


@pytest.mark.parametrize(("offered", "pending"), [(2, 0), (1, 2)])
def test_fixes_of_files_that_no_entry_ran_wait_where_there_are_many(
    offered: int, pending: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing would be written there, whatever is asked for."""
    monkeypatch.setattr(static_fixing, "OFFERED", offered)
    monkeypatch.setattr(checking, "Run", ran_the_entry(str(tmp_path / "entry.py")))
    (tmp_path / "entry.py").write_text(TEXT)
    (tmp_path / "other.py").write_text(ELSEWHERE)
    options = CheckOptions(mode=Mode.STATIC, cache=False, root=str(tmp_path), diff=True, unsafe_fixes=True, jobs=1)
    report = run_check([str(tmp_path)], options, Silence())
    found = json.loads(render_report(report))
    assert [d["filename"] for d in found if d["fix_pending"]] == [str(tmp_path / "other.py")] * pending
    assert {d["filename"] for d in found if d["fix"]} >= {str(tmp_path / "entry.py")}
    assert list(report.rewritten) == [str(tmp_path / "entry.py")]
    assert any("no entry ran" in note for note in report.notes)


def ran_the_entry(filename: str) -> Callable[..., Run]:
    """Makes a run in which an entry has run one file."""
    return lambda *given: Run(*given, reached={filename})
