"""What a process read is known by name: files, modules, folders, and that it talked to something outside."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SHELL = """
import json, os, sys
sys.path.insert(0, sys.argv[1])
from ddelint.trace import reads
reads.watch()
{code}
before = reads.mark()
print(json.dumps([reads.found(), reads.news(before)]))
"""


def found(folder: Path, code: str) -> dict[str, Any]:
    ran = subprocess.run(
        [sys.executable, "-c", SHELL.format(code=code), str(folder)],
        capture_output=True,
        text=True,
        check=True,
        cwd=folder,
    )
    read, news = json.loads(ran.stdout)
    assert not any(news.values())
    return dict(read)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "helper.py").write_text("import decimal\n", "utf-8")
    (tmp_path / "table.csv").write_text("1,2\n", "utf-8")
    return tmp_path


def test_files_and_modules(folder: Path) -> None:
    read = found(folder, "import helper\nopen('table.csv').close()\nopen('made.txt', 'w').close()")

    assert set(read["own"]) == {str(folder / "helper.py"), str(folder / "table.csv")}
    assert any(path.endswith("decimal.py") for path in read["installed"])
    assert str(folder) in read["sources"]
    assert read["folders"] == read["outside"] == read["beside"] == []


def test_what_is_not_there_is_known_as_asked_for(folder: Path) -> None:
    read = found(folder, "try:\n    open('weights.pt', 'rb')\nexcept OSError:\n    pass")

    assert str(folder / "weights.pt") in read["own"]


def test_folders_that_the_program_lists(folder: Path) -> None:
    assert found(folder, "os.listdir('.')")["folders"] == [str(folder)]
    assert found(folder, "import pathlib; list(pathlib.Path('.').glob('*.csv'))")["folders"] == [str(folder)]


@pytest.mark.parametrize(
    "code",
    [
        "import subprocess; subprocess.run([sys.executable, '-c', ''])",
        "os.system('')",
        "import socket\ntry:\n    socket.create_connection(('127.0.0.1', 9), 0.1)\nexcept OSError:\n    pass",
    ],
)
def test_what_is_outside(folder: Path, code: str) -> None:
    assert found(folder, code)["outside"]


def test_packages_that_read_by_themselves(folder: Path) -> None:
    (folder / "safetensors.py").write_text("", "utf-8")

    assert found(folder, "import safetensors")["beside"] == [str(folder)]
