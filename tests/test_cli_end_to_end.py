"""The command on real files, through the pipeline; the static pass only, so that it runs without torch."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """\
import torch


class Model(torch.nn.Module):
    def forward(self, x, mask):
        n = mask.sum().item()
        if n > 4:
            return x * 2
        return x
"""


def ddelint(folder: Path, *arguments: str, stdin: bytes | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "ddelint", *arguments],
        input=stdin.decode() if stdin is not None else None,
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)},
        check=False,
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "model.py").write_text(PROGRAM)
    return tmp_path


def test_a_finding_is_shown_with_its_birth(folder: Path) -> None:
    done = ddelint(folder, "model.py", "--static")
    assert done.returncode == 1, done.stderr
    assert "model.py:7:12 DDE101 branch-on-value" in done.stdout
    assert "━━━━━" in done.stdout
    assert "`n` is born here" in done.stdout
    assert done.stdout.endswith("1 error in 1 file\n")


def test_the_cache_changes_nothing_but_the_time(folder: Path) -> None:
    first = ddelint(folder, "model.py", "--static", "--output-format", "json")
    assert (folder / ".ddelint_cache").is_dir()
    second = ddelint(folder, "model.py", "--static", "--output-format", "json")
    without = ddelint(folder, "model.py", "--static", "--output-format", "json", "--no-cache")
    assert json.loads(first.stdout)
    assert first.stdout == second.stdout == without.stdout


def test_json_is_one_array_with_absolute_names(folder: Path) -> None:
    (finding,) = json.loads(ddelint(folder, "model.py", "--static", "--output-format", "json").stdout)
    assert finding["code"] == "DDE101"
    assert finding["filename"] == str(folder / "model.py")
    assert (finding["location"], finding["end_location"]) == ({"row": 7, "column": 12}, {"row": 7, "column": 17})
    assert finding["origin"] == ["static"]
    assert finding["expression"] == "n > 4"
    assert finding["symbols"][0]["created"]["row"] == 6


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"def f(:\n", "invalid syntax"),
        (b"\xff\xfe\x00", "cannot decode"),
        (b"x = 1\x00\n", "null"),
        (b"# coding: no-such-encoding\n", "cannot decode"),
    ],
)
def test_what_does_not_parse_is_a_finding(folder: Path, data: bytes, message: str) -> None:
    (folder / "broken.py").write_bytes(data)
    done = ddelint(folder, "broken.py", "--static")
    assert done.returncode == 1, done.stderr
    assert "DDE001 syntax-error" in done.stdout
    assert message in done.stdout
    assert done.stderr == ""


def test_an_empty_file_and_an_empty_folder_are_fine(folder: Path) -> None:
    (folder / "empty.py").write_bytes(b"")
    (folder / "sub").mkdir()
    assert ddelint(folder, "empty.py", "--static").stdout == "All checks passed!\n"
    done = ddelint(folder, "sub", "--static")
    assert done.returncode == 0
    assert done.stderr == "ddelint: warning: no Python files found under sub\n"


def test_selection_and_exit_zero(folder: Path) -> None:
    assert ddelint(folder, "model.py", "--static", "--ignore", "DDE1").returncode == 0
    assert ddelint(folder, "model.py", "--static", "--select", "DDE2").returncode == 0
    assert ddelint(folder, "model.py", "--static", "--exit-zero").returncode == 0
    (folder / "ddelint.toml").write_text('[per-file-ignores]\n"model.py" = ["branch-on-value"]\n')
    assert ddelint(folder, "model.py", "--static").returncode == 0


def test_standard_input_is_checked_under_its_name(folder: Path) -> None:
    done = ddelint(folder, "-", "--stdin-filename", "other.py", "--static", stdin=PROGRAM.encode())
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("other.py:7:12 DDE101 ")
    assert not (folder / "other.py").exists()


def test_static_executes_nothing(folder: Path) -> None:
    (folder / "loud.py").write_text(f"open('witness', 'w')\n{PROGRAM}\nmodel, args = Model(), ()\n")
    assert ddelint(folder, "loud.py", "--static").returncode == 1
    assert not (folder / "witness").exists()


def test_a_diff_writes_nothing_with_fix_too(folder: Path) -> None:
    retired = "import torch\n\n\ndef fn(x, n):\n    torch._check_is_size(n)\n    return x[:n]\n"
    (folder / "model.py").write_text(retired)
    shown = ddelint(folder, "model.py", "--static", "--fix", "--unsafe-fixes", "--diff")
    assert shown.returncode == 1, shown.stderr
    assert "+    torch._check(n >= 0)" in shown.stdout
    assert (folder / "model.py").read_text() == retired
    assert ddelint(folder, "model.py", "--static", "--fix", "--unsafe-fixes").returncode == 0
    assert "torch._check(n >= 0)" in (folder / "model.py").read_text()
