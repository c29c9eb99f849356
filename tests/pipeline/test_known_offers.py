"""Fixes that the text alone supports, kept from call to call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from ddelint.nouns.diagnostics import Diagnostic
from ddelint.pipeline import known_offers
from ddelint.pipeline.checking import run_check
from ddelint.report.json_ import render_report
from ddelint.report.model import Silence
from ddelint.rewrite import static_fixes
from ddelint.settings.options import CheckOptions
from ddelint.sources.source import SourceFile

MODEL = """\
import torch
{imports}

class Model(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        if x.max() > 3:
            raise ValueError("too large")
        return x * int(x.argmax()){more}
"""


@pytest.fixture
def worked_out(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The rules of the findings whose fixes are worked out anew."""
    codes: list[str] = []
    whole = static_fixes.with_static_fixes

    def noted(findings: Sequence[Diagnostic], sources: Mapping[str, SourceFile]) -> list[Diagnostic]:
        codes.extend(finding.code for finding in findings)
        return whole(findings, sources)

    monkeypatch.setattr(static_fixes, "with_static_fixes", noted)
    return codes


def told(path: Path, options: CheckOptions) -> str:
    return render_report(run_check([str(path)], options, Silence()))


def model(folder: Path, imports: str = "", more: str = "") -> Path:
    path = folder / "model.py"
    path.write_text(MODEL.format(imports=imports, more=more))
    return path


def test_the_second_call_works_nothing_out_and_says_the_same(
    tmp_path: Path, options: CheckOptions, worked_out: list[str]
) -> None:
    path = model(tmp_path)
    first = told(path, options)
    assert '"move": "check_instead_of_raise"' in first
    assert sorted(worked_out) == ["DDE103", "DDE201"]
    assert told(path, options) == first
    assert len(worked_out) == 2
    assert told(path, replace(options, cache=False)) == first
    assert len(worked_out) == 4


def test_a_call_about_other_rules_adds_to_what_is_kept(
    tmp_path: Path, options: CheckOptions, worked_out: list[str]
) -> None:
    path = model(tmp_path)
    told(path, replace(options, select=("DDE201",)))
    assert worked_out == ["DDE201"]
    told(path, options)
    assert worked_out == ["DDE201", "DDE103"]


def test_another_text_gets_its_own_fixes(tmp_path: Path, options: CheckOptions, worked_out: list[str]) -> None:
    told(model(tmp_path), options)
    path = model(tmp_path, more=" + int(x.argmin())")
    assert told(path, options).count('"item_instead_of_cast"') == 2
    assert sorted(worked_out) == ["DDE103", "DDE103", "DDE201", "DDE201", "DDE201"]


def test_how_long_lines_may_be_is_part_of_it(tmp_path: Path, options: CheckOptions, worked_out: list[str]) -> None:
    path = model(tmp_path)
    (tmp_path / ".git").mkdir()
    told(path, options)
    known_offers.longest_line.__globals__["_configured"].cache_clear()  # a call of its own asks anew
    (tmp_path / "ruff.toml").write_text("line-length = 44\n")
    told(path, options)
    known_offers.longest_line.__globals__["_configured"].cache_clear()
    assert len(worked_out) == 4


def test_other_code_that_rewrites_works_out_anew(
    tmp_path: Path, options: CheckOptions, worked_out: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = model(tmp_path)
    told(path, options)
    monkeypatch.setattr(known_offers, "_rewriting", lambda: "another version")
    told(path, options)
    assert len(worked_out) == 4


HELPER = "def {name}(mask):\n    return mask{body}\n"


def test_what_another_file_says_is_part_of_it(tmp_path: Path, options: CheckOptions, worked_out: list[str]) -> None:
    """The fix is checked in the file as it would be, with the other files as they are."""
    (tmp_path / "helper.py").write_text(HELPER.format(name="chosen", body=".nonzero()"))
    model(tmp_path, "from helper import chosen\n", " + len(chosen(x))")
    told(tmp_path, options)
    before = len(worked_out)
    told(tmp_path, options)
    assert len(worked_out) == before >= 3
    (tmp_path / "helper.py").write_text(HELPER.format(name="chosen", body=" + 1"))
    told(tmp_path, options)
    assert len(worked_out) > before


def test_what_fixes_make_of_a_file_is_read_once(
    tmp_path: Path, options: CheckOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = model(tmp_path)
    first = told(path, options)

    def none(*_: object) -> None:
        raise AssertionError("read again")

    monkeypatch.setattr(known_offers, "static_reading", none)
    monkeypatch.setattr(known_offers, "offered", none)
    assert told(path, options) == first


def test_a_cache_that_is_damaged_is_a_miss(tmp_path: Path, options: CheckOptions, worked_out: list[str]) -> None:
    path = model(tmp_path)
    first = told(path, options)
    shards = [shard for shard in (tmp_path / "cache").rglob("*.json") if '"fixes"' in shard.read_text()]
    assert len(shards) == 1
    shards[0].write_text(shards[0].read_text().replace('"fixes"', '"other"'))
    assert told(path, options) == first
    assert len(worked_out) == 4
