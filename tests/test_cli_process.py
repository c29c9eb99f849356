"""The command as a process: what only shows outside of a test runner."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


def ddelint(*arguments: str, folder: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "ddelint", *arguments],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent), **environment},
        check=False,
    )


def test_a_reader_that_leaves_early_causes_no_traceback() -> None:
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-m", "ddelint", "rule", "--all", "--output-format", "json"],
        stdout=write,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(write)
    assert done.stderr == b""
    assert done.returncode == 1


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_any_encoding_will_do(encoding: str) -> None:
    done = ddelint("rule", "DDE102", PYTHONIOENCODING=encoding)
    assert (done.returncode, done.stderr) == (0, "")
    assert "emptiness-check" in done.stdout


def test_a_bad_flag_is_one_line() -> None:
    done = ddelint("--no-such-flag")
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("ddelint: error: ")
    assert done.stderr.count("\n") == 1


def test_the_script_and_the_module_are_the_same(tmp_path: Path) -> None:
    assert ddelint("--version", folder=tmp_path).stdout.startswith("ddelint ")
    assert "Usage: ddelint check" in ddelint("check", "--help", folder=tmp_path).stdout
