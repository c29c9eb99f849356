"""Files of hostile names through the command line: every format, notes, diffs, fixes and patches."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import unicodedata
from pathlib import Path
from xml.etree import ElementTree

import pytest
from killing import ddelint

from ddelint.settings.options import FORMATS

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="such names are not possible there")

MODEL = """import torch


class Model(torch.nn.Module):
    def forward(self, x):
        if x.min() < 0:
            raise ValueError("negative")
        if x.sum() > 0:
            return x
        return -x
"""
NAMES = [
    b"\x1b[2J\x1b[1;1H.py",
    b"\x1b]0;owned\x07.py",
    b"\x1b]8;;https:evil\x1b\\click.py",
    b"\x9b31m.py",
    b"a\n::error::owned.py",
    b"a\r##[error]owned.py",
    b"::error file=x::owned.py",
    "a\u2028::error::owned.py".encode(),
    "\u202eyp.lairt.py".encode(),
    "\u2066x\u2069.py".encode(),
    b"\xff\xfe.py",
    b"-rf.py",
    b"--fix.py",
    b"a b\tc.py",
    b"a'b\"c`d.py",
    b"$(touch owned).py",
    b"%0A::error::owned.py",
    b"<script>alert(1)</script".replace(b"/", b"_") + b".py",
    b"]]>&amp;.py",
    b"a|b.py",
    b"a,json:b.py",
    b"a:1:1.py",
    b"model.py:Model.py",
    b"\\n.py",
    b"{0}%s{name}.py",
    b"a" * 252 + b".py",
]


def hidden(text: str) -> list[str]:
    """Characters that are not seen as what they are."""
    bidirectional = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
    return [
        character
        for character in text
        if (character not in "\n\t" and unicodedata.category(character) in {"Cc", "Cs", "Zl", "Zp"})
        or unicodedata.bidirectional(character) in bidirectional
    ]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Files of these names, committed."""
    folder = tmp_path / "repository"
    folder.mkdir()
    for name in NAMES:
        Path(os.fsdecode(os.path.join(os.fsencode(folder), name))).write_text(MODEL)
    for words in (["init", "-q"], ["add", "-A"]):
        subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True)
    return folder


def test_no_format_hands_on_what_is_hidden(repository: Path, tmp_path: Path) -> None:
    names = [name for name in FORMATS if name != "github-review"]  # that one needs a revision
    formats = [word for name in names for word in ("--output-format", f"{name}:{tmp_path / name}")]
    done = ddelint(("check", ".", "--static", "-v", *formats), repository, "names")
    assert done.returncode == 1, done.stderr
    for text in (done.stdout, done.stderr, *((tmp_path / name).read_text() for name in names)):
        assert hidden(text) == []
    for name in set(names) - {"html", "json", "sarif", "gitlab"}:
        lines = (tmp_path / name).read_text().splitlines()
        assert not any(line.lstrip().startswith(("::error::owned", "##[error]")) for line in lines), name
    commands = (tmp_path / "github").read_text().splitlines()
    assert all(line.startswith(("::error ", "::warning ", "::notice ", "ddelint: GitHub shows ")) for line in commands)
    told = {os.fsencode(os.path.basename(f["filename"])) for f in json.loads((tmp_path / "json").read_text())}
    assert told == set(NAMES)
    ElementTree.fromstring((tmp_path / "junit").read_text())
    for name in ("sarif", "gitlab"):
        json.loads((tmp_path / name).read_text())
    assert "<script>alert(1)" not in (tmp_path / "html").read_text()


def test_such_files_are_fixed_and_their_patch_applies(repository: Path, tmp_path: Path) -> None:
    patch = tmp_path / "changes.patch"
    done = ddelint(("check", ".", "--static", "--fix", "--unsafe-fixes", "--patch", str(patch)), repository, "names")
    assert done.returncode == 1, done.stderr
    assert hidden(done.stdout + done.stderr) == []
    assert sorted(map(os.fsencode, set(os.listdir(repository)) - {".git", ".ddelint_cache"})) == sorted(NAMES)
    fixed = {(repository / os.fsdecode(name)).read_text() for name in NAMES}
    assert len(fixed) == 1
    assert "_check_value" in fixed.pop()
    done_ = subprocess.run(["git", "apply", "-R", str(patch)], cwd=repository, capture_output=True, check=False)
    assert done_.returncode == 0, done_.stderr
    assert {(repository / os.fsdecode(name)).read_text() for name in NAMES} == {MODEL}


@pytest.mark.parametrize("name", NAMES)
def test_a_hostile_name_that_is_not_there(name: bytes, tmp_path: Path) -> None:
    done = ddelint(("check", "--static", "--", os.fsdecode(name)), tmp_path, "names")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("ddelint: error: ")
    assert hidden(done.stderr) == []
