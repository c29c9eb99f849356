"""Baselines: known findings are left out, new ones are not, and what matches nothing any more is told."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from ddelint.cli import main
from ddelint.pipeline import run_check
from ddelint.pipeline.baseline import BaselineError, read
from ddelint.report.model import Report, Silence
from ddelint.settings.options import CheckOptions, Mode

MODEL = """\
import torch


class Model(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        n = int(x.sum())
        if x.max() > 3:
            return x * n
        return x
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "model.py").write_text(MODEL)
    return tmp_path


def check(folder: Path, *files: str, **settings: object) -> Report:
    options = CheckOptions(mode=Mode.STATIC, cache=False, root=str(folder), **settings)  # type: ignore[arg-type]
    return run_check([str(folder / file) for file in files or ("model.py",)], options, Silence())


def written(folder: Path, *files: str) -> str:
    """A baseline of what is found now."""
    name = str(folder / "known.json")
    report = check(folder, *files, write_baseline=name)
    assert report.remaining == ()
    return name


def codes(report: Report) -> list[str]:
    return [f"{d.code}:{d.span.row}" for d in report.remaining]


def test_what_is_known_is_left_out_although_it_moves(folder: Path) -> None:
    assert codes(check(folder)) == ["DDE201:6", "DDE105:7"]
    known = written(folder)
    assert codes(check(folder, baseline=known)) == []
    (folder / "model.py").write_text("# a new line\n" + MODEL.replace("    return x * n", "    return (x * n).abs()"))
    report = check(folder, baseline=known)
    assert codes(report) == []
    assert report.notes == (f"2 findings known to {known}",) or "2 findings known to" in report.notes[0]
    assert report.warnings == ()


def test_a_new_finding_is_told_and_a_lost_one_too(folder: Path) -> None:
    known = written(folder)
    (folder / "model.py").write_text(MODEL.replace("x.max() > 3", "x.min() < 3"))
    report = check(folder, baseline=known)
    assert codes(report) == ["DDE105:7"]
    assert "1 entry of" in report.warnings[0]
    assert "(model.py:7 DDE105)" in report.warnings[0]


def test_writing_again_drops_what_is_gone_and_keeps_what_was_not_looked_at(folder: Path) -> None:
    (folder / "other.py").write_text(MODEL)
    known = written(folder, "model.py", "other.py")
    assert len(read(known)) == 4
    (folder / "model.py").write_text(MODEL.replace("int(x.sum())", "x.sum().item()"))
    written(folder, "model.py")
    assert [entry.place for entry in read(known)] == ["model.py:7 DDE105", "other.py:6 DDE201", "other.py:7 DDE105"]
    assert check(folder, "model.py", baseline=known).warnings == ()


def test_a_file_that_is_gone_takes_its_entries_along(folder: Path) -> None:
    (folder / "other.py").write_text(MODEL)
    known = written(folder, "model.py", "other.py")
    (folder / "other.py").unlink()
    assert "2 entries of" in check(folder, baseline=known).warnings[0]


def test_rules_that_are_not_selected_and_traced_ones_are_not_called_stale(folder: Path) -> None:
    known = written(folder)
    assert check(folder, baseline=known, select=("DDE2",)).warnings == ()
    table = json.loads(Path(known).read_text())
    table["findings"].append({**table["findings"][0], "code": "DDE305", "fingerprint": "0" * 32, "found_by": []})
    Path(known).write_text(json.dumps(table))
    assert check(folder, baseline=known).warnings == ()


def test_what_only_a_trace_found_is_neither_missed_nor_dropped_without_one(folder: Path) -> None:
    known = written(folder)
    table = json.loads(Path(known).read_text())
    assert [entry["found_by"] for entry in table["findings"]] == [["static"], ["static"]]
    traced = {**table["findings"][0], "found_by": ["trace"], "fingerprint": "0" * 32, "line": 8}
    table["findings"].append(traced)
    Path(known).write_text(json.dumps(table))
    assert check(folder, baseline=known).warnings == ()
    written(folder)
    assert [entry.place for entry in read(known)] == ["model.py:6 DDE201", "model.py:7 DDE105", "model.py:8 DDE201"]


def test_a_baseline_that_does_not_say_which_pass_found_what_is_read(folder: Path) -> None:
    known = written(folder)
    table = json.loads(Path(known).read_text())
    for entry in table["findings"]:
        del entry["found_by"]
    Path(known).write_text(json.dumps(table))
    assert codes(check(folder, baseline=known)) == []
    (folder / "model.py").write_text(MODEL.replace("int(x.sum())", "x.sum().item()"))
    assert "1 entry of" in check(folder, baseline=known).warnings[0]


def test_fixes_leave_alone_what_is_known(folder: Path) -> None:
    known = written(folder)
    (folder / "model.py").write_text(MODEL.replace("return x\n", "return x * float(x.min())\n"))
    report = check(folder, baseline=known, fix=True, unsafe_fixes=True)
    text = (folder / "model.py").read_text()
    assert "n = int(x.sum())" in text
    assert "torch.sym_float(x.min().item())" in text
    assert codes(report) == []


def test_on_the_command_line_and_in_the_configuration(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    (folder / "model.py").write_text(
        MODEL.replace("        return x\n", "        return x  # ddelint: ignore[DDE102]\n")
    )

    def run(*words: str) -> tuple[int, str]:
        result = CliRunner().invoke(main, ["check", "--static", "--no-cache", "--output-format", "concise", *words])
        return result.exit_code, result.output

    assert run("model.py")[0] == 1
    assert run("model.py", "--write-baseline", "known.json")[0] == 0
    assert run("model.py", "--baseline", "known.json")[0] == 0
    (folder / "ddelint.toml").write_text('baseline = "known.json"\n')
    assert run("model.py")[0] == 0
    (folder / "known.json").unlink()
    code, output = run("model.py")
    assert code == 2
    assert "there is no baseline" in output


def test_an_unused_suppression_is_told_and_taken_away(folder: Path) -> None:
    (folder / "model.py").write_text(
        MODEL.replace("        return x\n", "        return x  # ddelint: ignore[DDE102]\n")
    )
    assert "DDE003:9" in codes(check(folder))
    check(folder, fix=True, select=("DDE003",))
    assert (folder / "model.py").read_text() == MODEL


def test_the_same_twice_is_known_twice(folder: Path) -> None:
    known = written(folder)
    test = "        if x.max() > 3:\n            return x * n\n"
    (folder / "model.py").write_text(MODEL.replace(test, test + test))
    assert codes(check(folder, baseline=known)) == ["DDE105:9"]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (None, "there is no baseline"),
        ("{", "cannot read the baseline"),
        ("[]", "is no baseline"),
        ('{"ddelint-baseline": 99}', "another version's baseline"),
        ('{"ddelint-baseline": 1, "findings": [{"code": "DDE101"}]}', "is damaged"),
    ],
)
def test_what_is_no_baseline_is_said_in_one_line(folder: Path, text: str | None, complaint: str) -> None:
    known = folder / "known.json"
    if text is not None:
        known.write_text(text)
    with pytest.raises(BaselineError, match=complaint) as raised:
        check(folder, baseline=str(known))
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("text", ["{}", '{"ddelint-baseline": 99}'])
def test_what_is_no_baseline_is_neither_replaced_nor_a_reason_to_write(folder: Path, text: str) -> None:
    known = folder / "known.json"
    known.write_text(text)
    with pytest.raises(BaselineError, match=r"move it away, then `--write-baseline .*known\.json` makes a new one$"):
        check(folder, write_baseline=str(known), fix=True)
    assert known.read_text() == text
    assert (folder / "model.py").read_text() == MODEL


@pytest.mark.skipif(shutil.which("git") is None, reason="no git here")
def test_on_changed_lines_alone_nothing_is_called_gone(folder: Path) -> None:
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "first"]):
        command = ["git", "-c", "user.name=n", "-c", "user.email=e@e", *words]
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
    known = written(folder)
    (folder / "model.py").write_text(MODEL.replace("        return x\n", "        return x * float(x.min())\n"))
    check(folder, write_baseline=known, diff_base="HEAD")
    assert [entry.place for entry in read(known)] == ["model.py:6 DDE201", "model.py:7 DDE105", "model.py:9 DDE201"]
    assert check(folder, baseline=known).remaining == ()
