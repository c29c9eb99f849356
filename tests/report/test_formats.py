"""The formats that machines read, and the small parts that all formats share."""

from __future__ import annotations

import io
import json
import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from handmade import MODEL

from ddelint.knowledge import catalog
from ddelint.nouns.diagnostics import Diagnostic, Equality, Severity, Span, Symbol
from ddelint.report import concise, github, json_, rules, statistics
from ddelint.report.diff import shown_path, unified_diff
from ddelint.report.evidence import verified_line
from ddelint.report.model import Report
from ddelint.report.style import Style, bounds, columns, for_stream, width_of, words, wrapped

EVIDENCE_KEYS = {
    "samples", "both_sides", "eager_equal", "export", "strict", "compile", "backward", "devices", "recompiles",
    "parity",
}  # fmt: skip


def test_json_tells_how_names_hang_together(emptiness: Diagnostic) -> None:
    frame = replace(emptiness.frames[0], carriers=(("hit.shape[0]", "u0"),)) if emptiness.frames else None
    asked = replace(
        emptiness,
        equalities=(Equality("total", "a + b", "u0 + u1"),),
        frames=(frame,) if frame is not None else (),
    )
    (finding,) = json.loads(json_.render_report(Report((asked,))))
    assert finding["equalities"] == [{"name": "total", "expression": "a + b", "torch_expression": "u0 + u1"}]
    assert [frame["carriers"] for frame in finding["frames"]] == [{"hit.shape[0]": "u0"}] * (frame is not None)


def test_json_names_the_cpp_functions(emptiness: Diagnostic) -> None:
    asked = replace(emptiness, cpp_frames=("at::native::chunk(at::Tensor, long, long)",))
    findings = json.loads(json_.render_report(Report((asked, emptiness))))
    assert [finding["cpp_frames"] for finding in findings] == [["at::native::chunk(at::Tensor, long, long)"], []]


def test_concise_is_one_line_a_finding(emptiness: Diagnostic, crumbs: Diagnostic) -> None:
    report = Report((crumbs, emptiness))
    assert list(concise.render_report(report, False)) == [
        "model.py:16:16: DDE102 [*] the compiler must answer `hit.shape[0] == 0` while tracing",
        "model.py:20:13: DDE201 `int(router.max())` demands a concrete integer",
    ]
    assert "DDE201 [*]" in list(concise.render_report(report, True))[1]


def test_json_keeps_the_words_that_ruffs_users_know(emptiness: Diagnostic) -> None:
    (finding,) = json.loads(json_.render_report(Report((emptiness,))))
    assert finding["code"] == "DDE102"
    assert finding["filename"] == os.path.abspath("model.py")
    assert finding["location"] == {"row": 16, "column": 16}
    assert finding["end_location"] == {"row": 16, "column": 33}
    assert finding["url"].endswith("/DDE102/")
    assert finding["fix"]["applicability"] == "safe"
    assert finding["fix"]["edits"][1] == {
        "content": "guard_or_false(hit.shape[0] == 0)",
        "filename": os.path.abspath("model.py"),
        "location": {"row": 16, "column": 16},
        "end_location": {"row": 16, "column": 33},
    }
    assert finding["severity"] == "error"
    assert finding["origin"] == ["static", "trace"]
    assert finding["expression"] == "hit.shape[0] == 0"
    (symbol,) = finding["symbols"]
    assert symbol["created"] == {"filename": os.path.abspath("model.py"), "row": 13, "column": 19}
    assert set(finding["evidence"]) >= EVIDENCE_KEYS


def test_json_says_null_where_nothing_was_run(emptiness: Diagnostic, refused: Diagnostic) -> None:
    ran, not_run = json.loads(json_.render_report(Report((emptiness, refused))))
    assert ran["evidence"]["export"] is True
    assert ran["evidence"]["strict"] is None
    assert all(not_run["evidence"][key] is None for key in EVIDENCE_KEYS)
    assert not_run["fix"] is None


def test_json_is_an_empty_array_where_nothing_was_found() -> None:
    assert json.loads(json_.render_report(Report())) == []


def test_what_was_fixed_is_in_no_report(emptiness: Diagnostic) -> None:
    report = Report((replace(emptiness, fixed=True),))
    assert json.loads(json_.render_report(report)) == []
    assert list(concise.render_report(report, True)) == []
    assert list(github.render_report(report)) == []


def test_github_puts_the_worst_first_and_escapes(emptiness: Diagnostic, crumbs: Diagnostic) -> None:
    nasty = replace(crumbs, message="50% of\nthe lines", span=replace(crumbs.span, filename="a,b.py"))
    first, second = github.render_report(Report((nasty, emptiness)))
    assert emptiness.fix is not None
    assert first == (
        "::error file=model.py,line=16,endLine=16,col=16,endColumn=33,title=DDE102 emptiness-check::"
        "model.py:16:16: DDE102 the compiler must answer `hit.shape[0] == 0` while tracing%0A"
        f"fix (safe): {emptiness.fix.message}; {verified_line(emptiness.evidence)}"
    )
    assert second.startswith("::warning file=a%2Cb.py,")
    assert "50%25 of%0Athe lines%0Afix (unsafe): " in second


def test_github_knows_files_from_the_repositorys_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "model.py").touch()
    monkeypatch.chdir(tmp_path / "sub")
    (line,) = github.render_report(Report((Diagnostic("DDE004", "m", Span("model.py", 1, 4, 1, 9)),)))
    assert line.startswith("::error file=sub/model.py,line=1,")


def test_github_gives_no_columns_for_several_lines() -> None:
    (line,) = github.render_report(Report((Diagnostic("DDE101", "m", Span("a.py", 1, 4, 3, 2)),)))
    assert "col" not in line
    assert "line=1,endLine=3" in line


def test_github_says_when_it_will_drop_some() -> None:
    finding = Diagnostic("DDE101", "m", Span("a.py", 1, 1, 1, 2))
    many = [replace(finding, span=replace(finding.span, row=row, end_row=row)) for row in range(1, 12)]
    *_, last = github.render_report(Report(tuple(many)))
    assert "shows 10 of these 11 error annotations" in last
    assert len(list(github.render_report(Report(tuple(many[:10]))))) == 10


def test_statistics_count_by_rule(emptiness: Diagnostic, refused: Diagnostic, crumbs: Diagnostic) -> None:
    second = replace(refused, span=replace(refused.span, row=2))
    report = Report((emptiness, refused, second, crumbs))
    assert list(statistics.render_text(report, False)) == [
        "2  DDE101  [ ]  branch-on-value",
        "1  DDE102  [*]  emptiness-check",
        "1  DDE201  [ ]  integer-cast",
    ]
    assert json.loads(statistics.render_json(report, True))[2] == {
        "code": "DDE201", "name": "integer-cast", "count": 1, "fixable_count": 1,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a = 1\nb = 2\n", "a = 1\nb = 3\n"),
        ("a = 1\nb = 2", "a = 1\nb = 3"),
        ("a = 1", "a = 1\n"),
        ("", "a = 1\n"),
        ("a = 1\r\nb = 2\r\n", "a = 1\r\nb = 3\r\n"),
        ("a = '\f'\nb = 2\n", "a = '\f'\nb = 3\n"),
    ],
)
def test_a_diff_is_what_git_applies(tmp_path: Path, before: str, after: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    subprocess.run(["git", "init", "-q"], check=True)
    file = tmp_path / "model.py"
    file.write_bytes(before.encode())
    diff = unified_diff(str(file), before, after)
    assert diff.startswith("--- model.py\n+++ model.py\n")
    subprocess.run(["git", "apply", "-p0", "-"], input=diff.encode(), check=True)
    assert file.read_bytes() == after.encode()


def test_no_diff_where_nothing_changes() -> None:
    assert unified_diff("model.py", MODEL, MODEL) == ""


def test_paths_are_shown_from_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert shown_path(str(tmp_path / "a" / "b.py")) == "a/b.py"
    assert shown_path("/elsewhere/b.py") == "/elsewhere/b.py"
    assert shown_path("a/b.py") == "a/b.py"


@pytest.mark.parametrize(
    ("lower", "upper", "text"),
    [
        (0, 64, "0 ≤ n ≤ 64"),
        (0, None, "0 ≤ n"),
        (None, 8, "n ≤ 8"),
        (None, None, ""),
        (-(2**63), 2**63 - 1, ""),
        (0, 2**63 - 1, "0 ≤ n"),
        (0.5, float("inf"), "0.5 ≤ n"),
        (0, 1234567890123, "0 ≤ n ≤ 1234567890123"),
        (0, 1, ""),
        (1, 1, "1 ≤ n ≤ 1"),
    ],
)
def test_bounds_name_only_what_is_known(lower: float | None, upper: float | None, text: str) -> None:
    assert bounds(Symbol("n", "t.item()", lower=lower, upper=upper)) == text


def test_wrapping_breaks_behind_joints_and_long_pieces_between_words() -> None:
    assert words("one two three", 7) == ["one two", "three"]
    assert words("unbreakable", 4) == ["unbreakable"]
    assert wrapped(["aa bb", "cc dd"], 8, " · ") == ["aa bb ·", "cc dd"]
    assert wrapped(["aa bb cc dd"], 5, " · ") == ["aa bb", "cc dd"]
    assert wrapped([], 8, ", ") == [""]


def test_columns_know_tabs_wide_and_hidden_characters() -> None:
    assert columns("\ta") == ("    a", [0, 4, 5])
    assert columns("a\tb") == ("a   b", [0, 1, 4, 5])
    assert columns("名a")[1] == [0, 2, 3]
    assert columns("\x1b[31m")[0] == "\N{REPLACEMENT CHARACTER}[31m"
    assert width_of("e\N{COMBINING ACUTE ACCENT}") == 1


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("environment", "terminal", "color", "painted"),
    [
        ({}, True, "auto", True),
        ({}, False, "auto", False),
        ({"NO_COLOR": "1"}, True, "auto", False),
        ({"NO_COLOR": "1"}, True, "always", True),
        ({"FORCE_COLOR": "1"}, False, "auto", True),
        ({"FORCE_COLOR": "1"}, True, "never", False),
        ({"TERM": "dumb"}, True, "auto", False),
    ],
)
def test_colours_only_where_they_are_wanted(
    environment: dict[str, str], terminal: bool, color: str, painted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    stream = Terminal() if terminal else io.TextIOWrapper(io.BytesIO(), "utf-8")
    assert for_stream(stream, color).color is painted


def test_an_ascii_stream_is_written_in_ascii() -> None:
    style = for_stream(io.TextIOWrapper(io.BytesIO(), "ascii"), "auto")
    assert style.spell("0 ≤ n │ ü 名") == "0 <= n | \\xfc \\u540d"
    assert Style().spell("0 ≤ n") == "0 ≤ n"


def test_severities_are_counted_apart(emptiness: Diagnostic) -> None:
    note = replace(emptiness, severity=Severity.INFO)
    (line,) = github.render_report(Report((note,)))
    assert line.startswith("::notice ")


def test_the_list_of_rules_is_cut_to_a_terminals_width() -> None:
    everything = list(catalog.rules().values())
    assert all(len(line) <= 60 for line in rules.render_list(everything, 60).splitlines())
    assert any(len(line) > 60 for line in rules.render_list(everything).splitlines())
