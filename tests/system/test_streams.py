"""Streams that are closed, full or of an odd encoding, a working directory that is gone: one line, no traceback."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ddelint.system.streams import MOST_INPUT

pytestmark = pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a shell and /dev/full")

MODEL = """import torch


class Model(torch.nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            return x
        return -x
"""
PACKAGE = Path(__file__).parents[2] / "ddelint"


def shell(line: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """A line of shell in which `ddelint` is this checkout's; `model.py` has one finding."""
    (folder / "model.py").write_text(MODEL)
    call = line.replace("ddelint ", f"{sys.executable} -m ddelint ")
    return subprocess.run(
        ["/bin/sh", "-c", call],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(PACKAGE.parent), **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )


@pytest.mark.parametrize(
    "words",
    ["check model.py --static", "check model.py --static --output-format json", "--version", "rule DDE101",
     "rule --all", "--help", "config", "completion bash"],
)  # fmt: skip
@pytest.mark.parametrize(("to", "why"), [(">/dev/full", "No space left on device"), (">&-", "it is closed")])
def test_standard_output_that_takes_nothing_is_told(words: str, to: str, why: str, tmp_path: Path) -> None:
    done = shell(f"ddelint {words} {to}", tmp_path)
    assert done.stderr.splitlines()[-1] == f"ddelint: error: cannot write to standard output: {why}"
    assert "Traceback" not in done.stderr
    assert done.returncode == 2


@pytest.mark.parametrize("to", ["2>/dev/full", "2>&-"])
def test_standard_error_that_takes_nothing_changes_nothing(to: str, tmp_path: Path) -> None:
    usual = shell("ddelint check model.py --static -v", tmp_path)
    done = shell(f"ddelint check model.py --static -v {to}", tmp_path)
    assert (done.returncode, done.stdout) == (usual.returncode, usual.stdout) == (1, done.stdout)
    assert shell(f"ddelint check --no-such-option {to}", tmp_path).returncode == 2
    assert shell(f"ddelint check model.py --static >&- {to}", tmp_path).returncode == 2


@pytest.mark.parametrize("words", ["check - --static", "explain"])
def test_standard_input_that_is_closed_is_told(words: str, tmp_path: Path) -> None:
    done = shell(f"ddelint {words} <&-", tmp_path)
    assert done.stderr == "ddelint: error: cannot read standard input: it is closed\n"
    assert done.returncode == 2


def test_standard_input_without_end_is_not_read_to_its_end(tmp_path: Path) -> None:
    done = shell("ddelint check - --static </dev/zero", tmp_path)
    assert done.stderr == "ddelint: error: standard input is more than 64 MB\n"
    assert done.returncode == 2
    assert MOST_INPUT < 2**31


def test_files_of_the_call_do_not_take_the_numbers_of_closed_streams(tmp_path: Path) -> None:
    done = shell("ddelint check model.py --static -o report.txt <&- >&- 2>&-", tmp_path)
    assert done.returncode == 1
    assert "DDE105" in (tmp_path / "report.txt").read_text()
    assert (tmp_path / "model.py").read_text() == MODEL


@pytest.mark.parametrize(
    "words", ["check . --static", "check ../model.py --static", "config", "clean", "check - --static"]
)
def test_a_working_directory_that_is_gone_is_told(words: str, tmp_path: Path) -> None:
    done = shell(f"mkdir gone && cd gone && rmdir ../gone && ddelint {words}", tmp_path)
    assert done.stderr == "ddelint: error: the working directory is not there any more\n"
    assert done.returncode == 2


def test_files_by_their_whole_path_need_no_working_directory(tmp_path: Path) -> None:
    call = f"ddelint check {tmp_path}/model.py --static --output-format concise"
    done = shell(f"mkdir gone && cd gone && rmdir ../gone && {call}", tmp_path)
    assert "DDE105" in done.stdout
    assert done.returncode == 1


@pytest.mark.parametrize("encoding", ["idna", "punycode", "undefined", "utf-16", "ascii:strict", "utf-7", "cp037"])
def test_no_encoding_of_the_terminal_ends_a_call(encoding: str, tmp_path: Path) -> None:
    done = shell("ddelint check größer.py model.py --static", tmp_path, PYTHONIOENCODING=encoding)
    assert "bug" not in done.stderr
    assert "Traceback" not in done.stderr
    assert done.returncode == 2
    assert shell("ddelint check model.py --static", tmp_path, PYTHONIOENCODING=encoding).returncode == 1


@pytest.mark.parametrize("folder", ["trace", "verify"])
def test_what_shares_its_process_with_user_code_keeps_its_clock(folder: str) -> None:
    """A program that replaces `time.monotonic`, or `json.dumps`, replaces what a module looks up when it calls."""
    kept_by_nobody = {"time": {"monotonic", "perf_counter", "process_time", "sleep"}, "json": {"dumps", "loads"}}
    only_for_files = {"saved.py", "worker_process.py", "messages.py"}  # all but the first: the caller's side
    for path in sorted((PACKAGE / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and path.name not in only_for_files:
                assert node.attr not in kept_by_nobody.get(node.value.id, ()), f"{path.name}:{node.lineno}"
