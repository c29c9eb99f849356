"""Files and entries that cannot be worked on: each a diagnostic or one line, and no file changed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

PROGRAM = """\
import os
import signal
import sys
import time

import torch


class Model(torch.nn.Module):
    def forward(self, x):
        {body}
        if x.sum() > 0:
            return x
        return -x


def make_inputs(seed):
    return (torch.ones(2) * (1 - seed % 2 * 2),)
"""
BODIES = {
    "raises": ("raise LookupError('no such key')", "LookupError: no such key"),
    "exits": ("sys.exit(3)", "exit"),
    "leaves": ("os._exit(0)", "exit"),
    "allocates": ("kept = [b'x' * 2**20 for _ in range(2**20)]", "memory"),
    "dies": ("os.kill(os.getpid(), signal.SIGSEGV)", "SIGSEGV"),
}
"""Program → what its `forward` does first, and what the finding says."""
TEXTS = {
    "broken": b"def forward(x:\n",
    "latin": "# -*- coding: utf-8 -*-\nname = 'caf\xe9'\n".encode("latin-1"),
    "null": b"x = 1\0\n",
}
GOOD = "pass"


def ddelint(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-P", "-m", "ddelint", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment, check=False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All the bad files, an empty one, and a good one among them."""
    made = tmp_path_factory.mktemp("bad")
    for name, (body, _) in BODIES.items():
        (made / f"{name}.py").write_text(PROGRAM.format(body=body))
    for name, data in TEXTS.items():
        (made / f"{name}.py").write_bytes(data)
    (made / "empty.py").write_bytes(b"")
    (made / "good.py").write_text(PROGRAM.format(body=GOOD))
    return made


@pytest.fixture(scope="module")
def done(folder: Path) -> subprocess.CompletedProcess[str]:
    """One run over all of them."""
    pytest.importorskip("torch")
    named = [f"{name}.py" for name in TEXTS]  # in a folder, what cannot matter is not parsed
    return ddelint(folder, "check", ".", *named, "--fix", "--no-cache", "--output-format", "json", "--memory", "1G")


def findings(done: subprocess.CompletedProcess[str], name: str) -> list[dict[str, Any]]:
    return [found for found in json.loads(done.stdout) if Path(found["filename"]).stem == name]


@pytest.mark.parametrize("name", BODIES)
def test_an_entry_that_cannot_be_run(name: str, folder: Path, done: subprocess.CompletedProcess[str]) -> None:
    body, words = BODIES[name]
    (found,) = [found for found in findings(done, name) if found["code"] == "DDE002"]
    assert words in found["message"]
    assert (folder / f"{name}.py").read_text() == PROGRAM.format(body=body)


def test_an_entry_that_hangs(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    text = PROGRAM.format(body="while True:\n            time.sleep(1)")
    (tmp_path / "hangs.py").write_text(text)
    ended = ddelint(tmp_path, "hangs.py", "--fix", "--no-cache", "--timeout", "5", "--output-format", "json")
    (found,) = [found for found in findings(ended, "hangs") if found["code"] == "DDE002"]
    assert found["message"] == "did not finish within 5 seconds"
    assert found["location"]["row"] == 12
    assert (tmp_path / "hangs.py").read_text() == text


@pytest.mark.parametrize("name", TEXTS)
def test_a_file_that_does_not_parse(name: str, folder: Path, done: subprocess.CompletedProcess[str]) -> None:
    assert [found["code"] for found in findings(done, name)] == ["DDE001"]
    assert (folder / f"{name}.py").read_bytes() == TEXTS[name]


def test_an_empty_file_is_fine(folder: Path, done: subprocess.CompletedProcess[str]) -> None:
    assert findings(done, "empty") == []
    assert (folder / "empty.py").read_bytes() == b""


def test_the_good_file_among_them_is_fixed(folder: Path, done: subprocess.CompletedProcess[str]) -> None:
    assert findings(done, "good") == []
    assert "torch.where(" in (folder / "good.py").read_text()
    assert done.returncode == 1


def test_nothing_of_ours_is_shown(done: subprocess.CompletedProcess[str]) -> None:
    assert "Traceback" not in done.stderr
    assert "ddelint/" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("no_such_file.py",), "no_such_file.py"),
        (("empty.py", "--trace"), "no entry in empty.py"),
        (("good.py", "--entry", "Nobody"), "has no `Nobody`"),
        (("good.py", "--entry", "no_such_file.py:Model"), "no such file"),
        (("good.py", "--entry", "Model", "--inputs", "nothing"), "nothing"),
        (("good.py", "--python", "no/such/python"), "there is no interpreter no/such/python"),
    ],
)
def test_what_cannot_be_asked_for_is_one_line(folder: Path, arguments: tuple[str, ...], words: str) -> None:
    before = {path.name: path.read_bytes() for path in folder.glob("*.py")}
    required = () if "--trace" in arguments or len(arguments) == 1 else ("--trace",)
    refused = ddelint(folder, "check", *arguments, *required, "--no-cache", "--fix", "--unsafe-fixes")
    assert refused.returncode == 2
    assert refused.stdout == ""
    (line,) = [line for line in refused.stderr.splitlines() if line]
    assert words in line
    assert {path.name: path.read_bytes() for path in folder.glob("*.py")} == before


def test_a_folder_without_python(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("nothing to see")
    nothing = ddelint(tmp_path, "check", ".", "--no-cache")
    assert nothing.returncode == 0
    assert "no Python files" in nothing.stderr
