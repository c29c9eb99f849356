"""Several reports in one call: formats with and without files, `-o`, `--patch`."""

from __future__ import annotations

import json
import os
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from ddelint.cli import main
from ddelint.settings.options import FORMATS

MODEL = """\
import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        if x.min() < 0:
            raise ValueError("negative")
        return x
"""


@pytest.fixture(autouse=True)
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "model.py"
    path.write_text(MODEL)
    return path


def check(*words: str) -> Result:
    return CliRunner().invoke(
        main, ["check", "model.py", "--static", "--isolated", "--no-cache", "--unsafe-fixes", *words]
    )


def test_a_format_with_a_file_comes_on_top_of_what_is_printed() -> None:
    result = check("--output-format", "sarif:a.sarif", "--output-format", "markdown:b.md")
    assert result.exit_code == 1, result.output
    assert "model.py:7:12 DDE103 [*] validation-branch" in result.stdout
    assert json.loads(Path("a.sarif").read_text())["version"] == "2.1.0"
    assert Path("b.md").read_text().startswith("## ddelint: 1 finding")


def test_commas_join_formats_and_may_be_part_of_a_file_name() -> None:
    result = check("--output-format", "concise,json:a,b.json,junit:c.xml")
    assert result.stdout.startswith("model.py:7:12: DDE103")
    assert json.loads(Path("a,b.json").read_text())[0]["code"] == "DDE103"
    assert Path("c.xml").read_text().startswith("<?xml")


def test_dash_o_takes_the_format_without_a_file() -> None:
    result = check("-o", "out.txt", "--output-format", "json:a.json,concise")
    assert result.stdout == ""
    assert Path("out.txt").read_text().startswith("model.py:7:12: DDE103")
    assert json.loads(Path("a.json").read_text())


def test_statistics_are_for_what_is_printed() -> None:
    result = check("--statistics", "--output-format", "json:a.json")
    assert result.stdout.split()[:2] == ["1", "DDE103"]
    assert json.loads(Path("a.json").read_text())[0]["code"] == "DDE103"


def test_with_diff_the_files_are_written_all_the_same(model: Path) -> None:
    result = check("--diff", "--output-format", "markdown:b.md", "--patch", "fix.patch")
    assert "+++ model.py" in result.stdout
    assert Path("b.md").read_text().startswith("## ddelint: 1 finding")
    assert (
        Path("fix.patch").read_text().startswith("diff --git a/model.py b/model.py\n--- a/model.py\n+++ b/model.py\n")
    )
    assert model.read_text() == MODEL


def test_a_patch_is_what_was_written(model: Path) -> None:
    result = check("--fix", "--patch", "fix.patch")
    assert result.exit_code == 0, result.output
    assert model.read_text() != MODEL
    assert "+        torch._check_value(torch.sym_not((x.min() < 0).item()), lambda: " in Path("fix.patch").read_text()
    assert check("--fix", "--patch", "again.patch").exit_code == 0
    assert Path("again.patch").read_bytes() == b""


def test_files_are_written_though_nobody_reads_to_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    def closed(*arguments: object) -> None:
        raise BrokenPipeError

    monkeypatch.setattr("ddelint.commands.output.emit", closed)
    check("--output-format", "full,json:a.json", "--patch", "p.diff")
    assert json.loads(Path("a.json").read_text())[0]["code"] == "DDE103"
    assert "+        torch._check_value(torch.sym_not((x.min() < 0).item()), lambda: " in Path("p.diff").read_text()


def test_a_patch_holds_every_fix_however_many_there_are(model: Path) -> None:
    model.write_text(MODEL + "\n\ndef f():\n" + "    y = 1  # ddelint: ignore[DDE101]\n" * 60)
    assert check("--patch", "p.diff").exit_code == 1
    assert Path("p.diff").read_text().count("\n-    y = 1  # ddelint: ignore") == 60


def test_a_file_may_have_a_name_that_is_not_utf_8(model: Path) -> None:
    try:
        Path(os.fsdecode(b"odd\xff.py")).write_text(MODEL)
    except OSError:
        pytest.skip("this file system takes no such name")
    model.unlink()
    for name in [name for name in FORMATS if name != "github-review"]:  # that one needs a revision
        words = ["--static", "--unsafe-fixes", "--output-format", f"concise,{name}:report", "--patch", "p.diff", "."]
        result = CliRunner().invoke(main, ["check", *words])
        assert result.exit_code == 1, result.stderr
        assert "odd" in Path("report").read_text("utf-8")
    assert Path("p.diff").read_bytes().startswith(b"diff --git a/odd\xff.py ")


def test_formats_are_completed() -> None:
    (option,) = [one for one in main.commands["check"].params if one.name == "output_format"]
    offered = option.shell_complete(click.Context(main), "js")
    assert [item.value for item in offered] == ["json", "json-lines"]


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--output-format", "sarf"), "--output-format: `sarf` is none of full, "),
        (("--output-format", "sarif:"), "--output-format: `sarif:` names no file"),
        (("--output-format", "json,concise"), "two reports cannot go to one place: write FORMAT:FILE"),
        (("--output-format", "json:a,sarif:a"), "two reports cannot go to a"),
        (("-o", "a", "--output-format", "concise", "--output-format", "json:./a"), "two reports cannot go to one file"),
        (("--patch", "a", "-o", "a"), "two reports cannot go to one file"),
        (("--output-format", "json:gone/a"), "cannot write gone/a: no such folder"),
        (("--patch", "gone/a"), "cannot write gone/a: no such folder"),
        (("--output-format", "json:."), "cannot write .: it is a folder"),
    ],
)
def test_mistakes_are_one_line(words: tuple[str, ...], complaint: str) -> None:
    result = check(*words)
    assert result.exit_code == 2
    assert complaint in result.stderr
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""
