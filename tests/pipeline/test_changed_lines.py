"""`--diff-base`: which findings count, and what is fixed of them."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from ddelint.cli import main

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="no git here")

OLD = """\
import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        n = x.shape[0]
        if n > 4:
            x = x * 2
        if x.min() < 0:
            raise ValueError("negative")
        return x
"""


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A committed model, in the working directory."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "model.py"
    path.write_text(OLD)
    git("init", "-q")
    git("add", "-A")
    git("commit", "-q", "-m", "first")
    return path


def git(*words: str) -> None:
    subprocess.run(["git", "-c", "user.name=n", "-c", "user.email=e@e", *words], check=True, capture_output=True)


def check(*words: str) -> Result:
    return CliRunner().invoke(main, ["check", *words, "--static", "--isolated", "--no-cache", "--diff-base", "HEAD"])


def found(*words: str) -> list[tuple[str, int]]:
    told = json.loads(check(*words, "--output-format", "json", "-q").stdout)
    return [(finding["code"], finding["location"]["row"]) for finding in told]


def test_what_was_there_before_is_not_told(model: Path) -> None:
    assert found("model.py") == []
    assert check("model.py").exit_code == 0


def test_a_question_on_a_changed_line_is_told(model: Path) -> None:
    model.write_text("# new\n" + OLD.replace("x.min() < 0", "x.min() < 1"))
    assert found("model.py") == [("DDE103", 11)]


def test_rows_are_counted_as_python_counts_them(model: Path) -> None:
    pages = "# a page\f\n" * 6
    model.write_text(pages + OLD)
    git("commit", "-aqm", "pages")
    model.write_text(pages + OLD.replace("x.min() < 0", "x.min() < 1"))
    assert found("model.py") == [("DDE103", 16)]


def test_a_file_that_no_longer_parses_is_told_wherever_the_change_was(model: Path) -> None:
    opened = OLD.replace("x = x * 2", "x = (\n                x * 2\n            )")
    model.write_text(opened)
    git("commit", "-aqm", "parentheses")
    model.write_text(opened.replace("            )\n", ""))
    assert [code for code, _ in found("model.py")] == ["DDE001"]


def test_a_number_born_on_a_changed_line_is_told_where_it_is_asked_for(model: Path) -> None:
    model.write_text(OLD.replace("n = x.shape[0]", "n = x.sum().item()"))
    assert found("model.py") == [("DDE101", 8)]


def test_a_file_that_the_revision_has_not_is_new_as_a_whole(model: Path) -> None:
    (model.parent / "other.py").write_text(OLD)
    assert found(".") == [("DDE103", 10)]


def test_only_what_is_told_is_fixed(model: Path) -> None:
    added = '        if x.max() > 9:\n            raise ValueError("too large")\n        return x\n'
    model.write_text(OLD.replace("        return x\n", added))
    result = check("model.py", "--fix", "--unsafe-fixes")
    assert result.exit_code == 0, result.output
    text = model.read_text()
    assert "torch._check_value(torch.sym_not((x.max() > 9)" in text
    assert "        if x.min() < 0:\n            raise" in text


def test_every_format_tells_the_same(model: Path) -> None:
    model.write_text(OLD + "\n\nclass Other(Model):\n    def forward(self, x):\n        return x[: int(x.sum())]\n")
    formats = "concise,json:a.json,sarif:a.sarif,gitlab:a.gitlab,junit:a.xml,markdown:a.md,html:a.html"
    result = check("model.py", "--output-format", formats)
    count = len(json.loads(Path("a.json").read_text()))
    assert count
    assert len(json.loads(Path("a.sarif").read_text())["runs"][0]["results"]) == count
    assert len(json.loads(Path("a.gitlab").read_text())) == count
    assert Path("a.xml").read_text().count("<failure ") == count
    assert Path("a.html").read_text().count('class="card ') == count
    assert "DDE103" not in result.stdout + Path("a.md").read_text()


def test_a_revision_that_is_not_there_is_one_line(model: Path) -> None:
    result = CliRunner().invoke(main, ["check", "model.py", "--static", "--isolated", "--diff-base", "gone"])
    assert result.exit_code == 2
    assert result.stderr.startswith("ddelint: error: --diff-base gone: not a git revision of ")


def test_three_dots_mean_where_the_branch_began(model: Path) -> None:
    """What the other branch has done since is not what this one has changed."""
    git("branch", "-m", "ours")
    git("checkout", "-q", "-b", "theirs")
    model.write_text(OLD.replace("x.min() < 0", "x.max() < 0"))
    git("commit", "-qam", "theirs")
    git("checkout", "-q", "ours")
    model.write_text(OLD + "\n\ndef other(x):\n    return x\n")
    git("commit", "-qam", "ours")

    def rows(base: str) -> list[int]:
        command = ["check", "model.py", "--static", "--isolated", "--no-cache", "--output-format", "json", "-q"]
        told = CliRunner().invoke(main, [*command, "--diff-base", base])
        return [finding["location"]["row"] for finding in json.loads(told.stdout)]

    assert rows("theirs") == [10]
    assert rows("theirs...") == rows("ours...") == []


def test_three_dots_without_a_common_commit_are_an_error(model: Path) -> None:
    command = ["check", "model.py", "--static", "--isolated", "--no-cache", "--diff-base", "nowhere..."]
    told = CliRunner().invoke(main, command)
    assert told.exit_code == 2
    assert "--diff-base nowhere...: no commit in" in told.stderr
