"""Fixes without a run, written round after round."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from ddelint.diagnostics import Applicability, Claim, Diagnostic, Edit, Fix, Span
from ddelint.options import CheckOptions, Mode
from ddelint.pipeline.checking import run_check
from ddelint.report.model import Silence
from ddelint.rewrite import static_fixes
from ddelint.source import SourceFile

TEXT = "import torch\n\n\n@torch.compile\ndef f(x):\n    assert x.max() < 3\n    return x\n"


def test_a_fix_that_leaves_what_was_found_is_written_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def useless(findings: Sequence[Diagnostic], _: Mapping[str, SourceFile]) -> list[Diagnostic]:
        def fix(finding: Diagnostic) -> Fix:
            place = Span(finding.span.filename, finding.span.row, 1, finding.span.row, 1)
            return Fix(Applicability.SAFE, "", (Edit(place, "    pass\n"),), "useless", Claim.EQUIVALENT)

        return [replace(finding, fix=fix(finding)) for finding in findings]

    monkeypatch.setattr(static_fixes, "with_static_fixes", useless)
    path = tmp_path / "model.py"
    path.write_text(TEXT)
    told = run_check([str(path)], CheckOptions(mode=Mode.STATIC, root=str(tmp_path), cache=False, fix=True), Silence())
    assert path.read_text() == TEXT.replace("    assert", "    pass\n    assert")
    assert [finding.code for finding in told.diagnostics if not finding.fixed] == ["DDE104"]


def test_what_a_fix_brings_to_light_is_fixed_too(tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    path.write_text(TEXT.replace("x.max() < 3", "x.max() < 3, int(x.max())"))
    run_check([str(path)], CheckOptions(mode=Mode.STATIC, root=str(tmp_path), cache=False, fix=True), Silence())
    assert "torch._check((x.max() < 3).item())" in path.read_text()
