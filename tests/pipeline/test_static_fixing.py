"""Fixes without a run, written round after round."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from ddelint.nouns.diagnostics import Applicability, Claim, Diagnostic, Edit, Fix, Span
from ddelint.pipeline.checking import run_check
from ddelint.pipeline.gathering import Run, Sources
from ddelint.pipeline.static_fixing import with_offers, written
from ddelint.pipeline.static_pass import check_files
from ddelint.report.model import Silence
from ddelint.rewrite import static_fixes
from ddelint.settings.options import CheckOptions, Mode
from ddelint.sources.source import SourceFile

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
    told = run_check(
        [str(path)],
        CheckOptions(mode=Mode.STATIC, root=str(tmp_path), cache=False, fix=True, unsafe_fixes=True),
        Silence(),
    )
    assert path.read_text() == TEXT.replace("    assert", "    pass\n    assert")
    assert [finding.code for finding in told.diagnostics if not finding.fixed] == ["DDE104"]


def test_what_a_fix_brings_to_light_is_fixed_too(tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    path.write_text(TEXT.replace("x.max() < 3", "x.max() < 3, int(x.max())"))
    run_check(
        [str(path)],
        CheckOptions(mode=Mode.STATIC, root=str(tmp_path), cache=False, fix=True, unsafe_fixes=True),
        Silence(),
    )
    assert "torch._check((x.max() < 3).item())" in path.read_text()


LENGTHS = """import torch


class Model(torch.nn.Module):
    def forward(self, x, mask):
        h = x[mask]
{body}
        return h
"""


@pytest.mark.parametrize(
    ("body", "fixed"),
    [
        ("if len(h) == 0:\n            h = x", False),
        ("if not len(h):\n            h = x", False),
        ("h = x if len(h) > 3 else h", False),
        ("while len(h) > 1:\n            h = h[:1]", False),
        ("for i in range(len(h)):\n            h = h + i", False),
        ("if int(x.sum()) > 3:\n            h = x", False),
        ("if h.any() and 1 < len(h) < 4:\n            h = x", False),
        ("h = h / len(h)", True),
        ("n = len(h)\n        h = h * n", True),
        ("h = h * int(x.sum())", True),
    ],
)
def test_a_fix_that_leaves_its_question_standing_is_none(body: str, fixed: bool, tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    text = LENGTHS.format(body=f"        {body}")
    path.write_text(text)
    told = run_check(
        [str(path)],
        CheckOptions(mode=Mode.STATIC, root=str(tmp_path), cache=False, fix=True, unsafe_fixes=True),
        Silence(),
    )
    assert told.diagnostics
    assert any(finding.fixed for finding in told.diagnostics) is fixed
    assert (path.read_text() != text) is fixed


@pytest.mark.parametrize("asked", ["nothing ran", "ran", "named", "neither"])
def test_where_an_entry_ran_other_files_are_left_unless_they_are_named(asked: str, tmp_path: Path) -> None:
    path = tmp_path / "helpers.py"
    path.write_text(TEXT)
    options = CheckOptions(mode=Mode.STATIC, root=str(tmp_path), cache=False, fix=True, unsafe_fixes=True)
    run = Run(options, Silence(), Sources([str(tmp_path)], {}))
    check_files([str(path)], frozenset(), run)
    run.reached = {"nothing ran": set(), "ran": {str(path)}}.get(asked, {"model.py"})
    run.named = frozenset([str(path)] if asked == "named" else [])
    _, texts = written(with_offers(run.static, run), run)
    assert list(texts) == ([] if asked == "neither" else [str(path)])
    assert any("1 file that no entry ran" in note for note in run.notes) == (asked == "neither")
