"""The summary for a pull request, and the lines that explain a diff."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from handmade import MODEL, span_of

from ddelint.nouns.diagnostics import Applicability, Claim, Diagnostic, Edit, Evidence, Fix, Span
from ddelint.report import formats, markdown
from ddelint.report.diff import unified_diff
from ddelint.report.evidence import verified_line
from ddelint.report.model import Report
from ddelint.report.style import Style
from ddelint.version import VERSION

RUN = Evidence(
    samples=64,
    both_sides=True,
    eager_equal=True,
    export=True,
    compile=True,
    backward=True,
    notes=("cuda not run: no device",),
)


def test_the_evidence_is_one_line() -> None:
    assert verified_line(RUN) == (
        "verified: 64 inputs, both sides, eager equal, export ok, fullgraph ok, backward ok, cuda n/a"
    )


def test_what_was_not_run_is_not_told_as_good() -> None:
    assert verified_line(Evidence()) == verified_line(None) == "not verified: nothing was run"
    told = verified_line(replace(RUN, export=None, compile=False, both_sides=False, devices=("cpu",)))
    assert told == "verified: 64 inputs, one side only, eager equal, fullgraph fails, backward ok, cuda n/a"


def test_a_gpu_that_was_used_is_told() -> None:
    assert verified_line(replace(RUN, devices=("cpu", "cuda"), notes=())).endswith("backward ok, cuda ok")


def test_the_summary_of_a_check(
    emptiness: Diagnostic, crumbs: Diagnostic, refused: Diagnostic, expect: Callable[[str, str], None]
) -> None:
    report = Report(
        (replace(emptiness, evidence=RUN), crumbs, refused),
        diffs={"model.py": "--- model.py\n+++ model.py\n@@ -1 +1 @@\n-a\n+b\n"},
        entries=("model.py:Model, inputs from make_inputs(seed)",),
    )
    how = formats.Rendering(Style(), "markdown", "ddelint check model.py")
    expect("markdown", formats.render(report, how).replace(VERSION, "VERSION"))


def test_fixed_and_open_findings_stand_apart(emptiness: Diagnostic, refused: Diagnostic) -> None:
    lines = list(markdown.render_report(Report((replace(emptiness, fixed=True), refused)), "ddelint check m.py", False))
    assert lines[0] == "## ddelint: 2 findings in 1 file, 1 fixed, 1 needs manual changes"
    assert lines.index("### Fixed") < lines.index("### Needs manual changes")


def test_a_bar_in_the_code_is_no_border(emptiness: Diagnostic) -> None:
    asked = replace(emptiness, expression="(a | b).any()\n    == c")
    (row,) = [line for line in markdown.render_report(Report((asked,)), "", False) if "a \\| b" in line]
    assert row.count(" | ") == 3


def test_a_fence_in_the_diff_does_not_end_the_block() -> None:
    report = Report(diffs={"m.py": "--- m.py\n+++ m.py\n@@ -1 +1 @@\n-a\n```\n"})
    assert "````diff" in list(markdown.render_report(report, "", False))


def test_each_fix_stands_with_its_lines_its_evidence_and_its_risk(emptiness: Diagnostic, crumbs: Diagnostic) -> None:
    run = replace(RUN, notes=("cuda not run: no device", "seed 2: the order of\nthe rows differs"))
    unsafe = replace(crumbs, fix=replace(crumbs.fix, reasons=("one side was not run",)))
    report = Report((replace(emptiness, evidence=run), unsafe), texts={"model.py": MODEL})
    lines = list(markdown.render_report(report, "ddelint check m.py", True))
    first, second = (number for number, line in enumerate(lines) if line.startswith("#### "))
    assert lines[first] == "#### `model.py:16` DDE102 emptiness-check"
    assert "+ if guard_or_false(hit.shape[0] == 0):" in lines[first:second]
    (risk, other) = [line for line in lines if line.startswith("- Risk: ")]
    assert risk.startswith("- Risk: safe: eager chooses as before")
    assert risk.endswith("; seed 2: the order of the rows differs")
    assert other == "- Risk: unsafe: one side was not run"
    assert lines.index("### How to reproduce") > second


def test_what_is_known_of_all_fixes_is_said_once(emptiness: Diagnostic) -> None:
    noted = replace(emptiness, evidence=replace(RUN, notes=("the order differs",)))
    other = replace(noted, span=span_of("n = int(router.max())", "int(router.max())"))
    text = "\n".join(markdown.render_report(Report((noted, other), texts={"model.py": MODEL}), "", False))
    assert text.count("the order differs") == 1
    assert "Of all of these: the order differs." in text


@pytest.mark.parametrize(
    ("run", "said"),
    [
        (RUN, "verified by running `m.py:Model`: eager results stay the same, it exports, it compiles to one graph."),
        (replace(RUN, export=False), "eager results stay the same, it compiles to one graph."),
        (None, "nothing was run: each fix says what it rests on."),
    ],
)
def test_one_sentence_says_what_was_done_and_what_it_rests_on(
    emptiness: Diagnostic, run: Evidence | None, said: str
) -> None:
    report = Report((replace(emptiness, fixed=True, evidence=run),), entries=("m.py:Model",))
    sentence = list(markdown.render_report(report, "", False))[2]
    assert sentence.startswith("1 place that needed the data while tracing is rewritten; ")
    assert sentence.endswith(said)


def change(tmp_path: Path) -> tuple[Report, Path]:
    """A report with the diff of two files, each with its fix."""
    diagnostics, diffs = [], {}
    for name in ("one.py", "two.py"):
        (tmp_path / name).write_text("x = 1\ny = 2\n")
        fix = Fix(Applicability.SAFE, "y is 3", (Edit(Span(name, 2, 5, 2, 6), "3"),), "none", Claim.EQUIVALENT)
        diagnostics.append(Diagnostic("DDE102", "m", Span(name, 2, 1, 2, 2), fix=fix, evidence=RUN))
        diffs[name] = unified_diff(name, "x = 1\ny = 2\n", "x = 1\ny = 3\n")
    return Report(tuple(diagnostics), diffs=diffs), tmp_path


def test_a_diff_says_what_it_fixes_and_what_was_run(tmp_path: Path) -> None:
    report, _ = change(tmp_path)
    lines = formats.render_diff(report, Style()).splitlines()
    assert lines[:3] == ["# DDE102 one.py:2: y is 3", f"#   {verified_line(RUN)}", "--- one.py"]
    assert lines.count("# DDE102 two.py:2: y is 3") == 1


def test_an_unsafe_fix_is_explained_where_it_is_taken(tmp_path: Path) -> None:
    report, _ = change(tmp_path)
    unsafe = [
        replace(d, fix=replace(d.fix, applicability=Applicability.UNSAFE))
        for d in report.diagnostics
        if d.fix is not None
    ]
    report = replace(report, diagnostics=tuple(unsafe))
    assert "DDE102" not in formats.render_diff(report, Style())
    assert "DDE102" in formats.render_diff(report, Style(), unsafe_fixes=True)


@pytest.mark.parametrize("command", [["git", "apply", "-p0"], ["patch", "-p0", "-s"]], ids=["git", "patch"])
def test_the_explained_diff_can_be_applied(tmp_path: Path, command: list[str]) -> None:
    if shutil.which(command[0]) is None:
        pytest.skip(f"no {command[0]} here")
    report, folder = change(tmp_path)
    text = formats.render_diff(report, Style())
    subprocess.run(command, input=text, text=True, cwd=folder, check=True, capture_output=True)
    assert [(folder / name).read_text() for name in ("one.py", "two.py")] == ["x = 1\ny = 3\n"] * 2
