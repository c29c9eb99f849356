"""`json-lines`, `gitlab` and `junit`; the patch that `git apply` reads."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from handmade import MODEL

from ddelint.nouns.diagnostics import Diagnostic, Span
from ddelint.report import gitlab, json_, junit
from ddelint.report.diff import unified_diff
from ddelint.report.evidence import offered_line
from ddelint.report.model import Report
from ddelint.report.patch import render_patch
from ddelint.sources.source import SourceFile

TEXTS = {"model.py": MODEL}


def test_json_lines_are_the_array_line_by_line(emptiness: Diagnostic, crash: Diagnostic) -> None:
    report = Report((emptiness, crash))
    lines = json_.render_lines(report).splitlines()
    assert [json.loads(line) for line in lines] == json.loads(json_.render_report(report))
    assert json_.render_lines(Report()) == ""


def test_gitlab_tells_apart_what_is_alike(emptiness: Diagnostic, crumbs: Diagnostic) -> None:
    again = replace(emptiness, span=replace(emptiness.span, row=18, end_row=18))
    issues = json.loads(gitlab.render_report(Report((emptiness, again, crumbs), texts=TEXTS)))
    assert issues[0] == {
        "description": "DDE102: the compiler must answer `hit.shape[0] == 0` while tracing",
        "content": {"body": offered_line(emptiness)},
        "check_name": "DDE102",
        "fingerprint": issues[0]["fingerprint"],
        "severity": "major",
        "location": {"path": "model.py", "lines": {"begin": 16, "end": 16}},
    }
    assert [issue["severity"] for issue in issues] == ["major", "major", "minor"]
    assert len({issue["fingerprint"] for issue in issues}) == 3
    assert json.loads(gitlab.render_report(Report())) == []


def test_junit_is_one_suite_a_file_and_one_failure_a_finding(emptiness: Diagnostic, crash: Diagnostic) -> None:
    other = replace(crash, span=Span("pkg/other.py", 3, 1, 3, 2), message="a \x00 <b> & c")
    root = ElementTree.fromstring(junit.render_report(Report((emptiness, crash, other), errors=("cannot read x",))))
    assert {name: root.get(name) for name in ("tests", "failures", "errors")} == {
        "tests": "4", "failures": "3", "errors": "1",
    }  # fmt: skip
    assert [suite.get("name") for suite in root] == ["model.py", "pkg/other.py", "ddelint"]
    case = root[0][0]
    assert (case.get("name"), case.get("line")) == ("DDE102 emptiness-check (16:16)", "16")
    failure = case.find("failure")
    assert failure is not None
    assert "verified: 64 inputs" in (failure.text or "")
    assert root[1][0].get("classname") == "pkg.other"
    assert root[1][0][0].get("message") == "a \\x00 <b> & c"


def test_junit_says_that_nothing_was_found() -> None:
    root = ElementTree.fromstring(junit.render_report(Report(files_checked=2)))
    assert (root.get("tests"), root.get("failures")) == ("1", "0")
    assert root[0][0].get("name") == "2 files checked, nothing found"


@pytest.mark.skipif(shutil.which("git") is None, reason="no git here")
@pytest.mark.parametrize(
    ("name", "before"),
    [
        ("plain.py", b"x = 1\ny = 2\n"),
        ("with blank.py", b"x = 1\ny = 2\n"),
        ('quote".py', b"x = 1\ny = 2\n"),
        ("ä.py", "# ä\nx = 1\ny = 2".encode()),
        ("latin.py", "# -*- coding: latin-1 -*-\ns = 'ä'\nx = 1\n".encode("latin-1")),
        ("mark.py", b"\xef\xbb\xbfx = 1\ny = 2\n"),
        ("windows.py", b"x = 1\r\ny = 2\r\n"),
    ],
)
@pytest.mark.parametrize("written", [True, False])
def test_a_patch_applies_in_the_root(
    name: str, before: bytes, written: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    folder = tmp_path / "src"
    folder.mkdir()
    monkeypatch.chdir(folder)  # the call's working directory is not the root
    path = folder / name
    source = SourceFile.from_bytes(str(path), before)
    after = source.text.replace("x = 1", "x = [\n    1,\n]".replace("\n", source.newline))
    path.write_bytes(source.encode(after) if written else before)
    patch = render_patch(Report(diffs={str(path): unified_diff(str(path), source.text, after)}))
    path.write_bytes(before)
    subprocess.run(["git", "apply", "-"], input=patch, cwd=tmp_path, check=True)
    assert path.read_bytes() == source.encode(after) != before
    assert patch.startswith(b"diff --git ")


def test_no_change_is_an_empty_patch() -> None:
    assert render_patch(Report()) == b""
