"""A finding without a fix says whether there is none, or none was worked out."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from ddelint.pipeline import static_fixing
from ddelint.pipeline.checking import run_check
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
