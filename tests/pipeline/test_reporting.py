"""One report of both passes: what a trace proves, and what a call says that it has fixed."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from ddelint.nouns.diagnostics import Applicability, Claim, Diagnostic, Edit, Fix, Severity, Span
from ddelint.pipeline.gathering import Run, Sources, roots
from ddelint.pipeline.reporting import report
from ddelint.pipeline.static_pass import check_files
from ddelint.report.model import Report, Silence
from ddelint.rewrite.search.history import History
from ddelint.settings.options import CheckOptions, Mode
from ddelint.sources.source import SourceFile

STEP = """\
import torch

compiled = torch.compile(lambda x: x.sum())


def step(x):
    with torch.autocast("cpu"):
        loss = compiled(x)
    loss.backward()
"""


def run_on(folder: Path, files: Mapping[str, str], *, fix: bool = False) -> Run:
    """What the static pass gathers of these files."""
    for name, text in files.items():
        (folder / name).write_text(text)
    paths = [str(folder)]
    run = Run(
        CheckOptions(mode=Mode.STATIC, cache=False, fix=fix, unsafe_fixes=fix), Silence(), Sources(roots(paths), {})
    )
    check_files([str(folder / name) for name in files], frozenset(), run)
    return run


def traced(path: Path, row: int) -> Diagnostic:
    """What a trace says of gradients that are off."""
    return Diagnostic(
        "DDE701", "gradients", Span(str(path), row, 1, row, 5), Severity.WARNING, ("trace",), detail="off by 1e-2"
    )


def proven(told: Report) -> list[str]:
    """The files of findings whose fix is safe, for it was run."""
    safe = [d for d in told.remaining if d.fix is not None and d.fix.applicability is Applicability.SAFE]
    assert all(d.evidence is not None and d.evidence.backward for d in safe)
    return [Path(d.span.filename).name for d in safe]


def test_a_trace_proves_the_fix_of_the_only_place_that_it_can_mean(tmp_path: Path) -> None:
    run = run_on(tmp_path, {"a.py": STEP})
    run.traced.append(traced(tmp_path / "a.py", 3))
    told = report(run, files=1)
    assert proven(told) == ["a.py"]
    assert len(told.remaining) == 1


def test_a_trace_proves_nothing_where_it_may_mean_one_of_several_places(tmp_path: Path) -> None:
    run = run_on(tmp_path, {"a.py": STEP, "b.py": STEP})
    run.traced.append(traced(tmp_path / "a.py", 3))
    told = report(run, files=2)
    assert proven(told) == []
    assert [d.origin for d in told.remaining].count(("trace",)) == 1


def test_two_traced_programs_do_not_prove_one_place(tmp_path: Path) -> None:
    run = run_on(tmp_path, {"a.py": STEP})
    run.traced += [traced(tmp_path / "a.py", 3), traced(tmp_path / "a.py", 1)]
    assert proven(report(run, files=1)) == []


LEFT = """\
import torch


class Model(torch.nn.Module):
    def forward(self, x):
        n = x.max().item()
        torch._check_is_size(n)
        return x.new_zeros(n), int(x.sum())  # ddelint: ignore[DDE105]
"""


NESTED = """\
import torch


class Model(torch.nn.Module):
    def forward(self, x):
        torch._check_is_size(int(x.sum()))
        return x
"""


def test_a_fix_inside_another_one_waits_in_a_traced_file_and_is_not_called_fixed(tmp_path: Path) -> None:
    run = run_on(tmp_path, {"a.py": NESTED}, fix=True)
    run.executed[str(tmp_path / "a.py")] = frozenset((1, 4, 5))
    told = report(run, files=1)
    assert (tmp_path / "a.py").read_text() == NESTED.replace(
        "_check_is_size(int(x.sum()))", "_check(int(x.sum()) >= 0)"
    )
    assert [d.code for d in told.fixed] == ["DDE601"]
    assert [(d.code, d.expression) for d in told.remaining] == [("DDE201", "int(x.sum())")]


def test_a_fix_inside_another_one_is_written_in_the_same_call_where_nothing_was_traced(tmp_path: Path) -> None:
    told = report(run_on(tmp_path, {"a.py": NESTED}, fix=True), files=1)
    assert "torch._check(torch.sym_int(x.sum().item()) >= 0)" in (tmp_path / "a.py").read_text()
    assert [d.code for d in told.fixed] == ["DDE601", "DDE201"]
    assert told.remaining == ()
    edits = dict.fromkeys(edit for d in told.fixed if d.fix is not None for edit in d.fix.edits)
    assert SourceFile("a.py", NESTED).apply(tuple(edits)) == (tmp_path / "a.py").read_text()


def refuse(monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
    """Nothing may be written to the file, as root either."""
    whole = os.access
    monkeypatch.setattr(os, "access", lambda name, mode: os.fspath(name) != str(path) and whole(name, mode))


def test_a_file_that_cannot_be_written_is_told_and_the_others_are_fixed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = run_on(tmp_path, dict.fromkeys(("a.py", "b.py", "c.py"), NESTED), fix=True)
    refuse(monkeypatch, tmp_path / "b.py")
    told = report(run, files=3)
    assert [(tmp_path / name).read_text() == NESTED for name in ("a.py", "b.py", "c.py")] == [False, True, False]
    assert told.errors == (f"{tmp_path}/b.py is left as it is: it is read-only",)
    assert {Path(d.span.filename).name for d in told.fixed} == {"a.py", "c.py"}
    assert {Path(d.span.filename).name for d in told.remaining} == {"b.py"}
    assert set(told.diffs) == set(told.rewritten) == {str(tmp_path / name) for name in ("a.py", "c.py")}


def test_half_of_a_fix_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = run_on(tmp_path, dict.fromkeys(("a.py", "b.py"), "x = 1\n"), fix=True)
    edits = tuple(Edit(Span(str(tmp_path / name), 1, 5, 1, 6), "2") for name in ("a.py", "b.py"))
    fix = Fix(Applicability.SAFE, "two", edits, "move", Claim.EQUIVALENT)
    run.traced.append(replace(traced(tmp_path / "a.py", 1), code="DDE101", fix=fix))
    run.history = History(run.sources, ()).add(list(edits), 1)
    refuse(monkeypatch, tmp_path / "b.py")
    told = report(run, files=2)
    assert (tmp_path / "a.py").read_text() == (tmp_path / "b.py").read_text() == "x = 1\n"
    assert told.fixed == ()
    assert len(told.errors) == 2


def test_what_a_search_left_in_its_files_is_fixed_in_the_same_call(tmp_path: Path) -> None:
    run = run_on(tmp_path, {"a.py": LEFT})
    path = str(tmp_path / "a.py")
    found = [(d.code, d.span.row) for d in report(run, files=1).remaining]
    assert found == [("DDE601", 7), ("DDE201", 8), ("DDE003", 8)]
    run = replace(run, options=replace(run.options, fix=True, unsafe_fixes=True))
    run.executed[path] = frozenset((1, 4, 5))  # it returned before the rows of the findings
    new = [Edit(Span(path, 1, 1, 1, 1), "import math\n")]
    run.history = History(run.sources, ()).add(new, 1)
    reported = report(run, files=1)
    assert reported.writes
    assert reported.remaining == ()
    assert [(d.code, d.span.row) for d in reported.fixed] == found
    text = (tmp_path / "a.py").read_text()
    assert text.startswith("import math\nimport torch\n")
    assert "torch._check(n >= 0)" in text
    assert "ignore" not in text
    again = run_on(tmp_path, {}, fix=True)
    check_files([path], frozenset(), again)
    assert report(again, files=1).rewritten == {}


def test_a_trace_without_a_question_disproves_what_a_warning_says_of_the_compiler(tmp_path: Path) -> None:
    text = (
        "import torch\n\n\nclass Model(torch.nn.Module):\n    def forward(self, x, ends):\n"
        "        ends = ends.tolist()\n        return [x[a:b] for a, b in zip(ends, ends[1:])]\n"
    )
    run = run_on(tmp_path, {"a.py": text})
    assert [d.code for d in report(run, files=1).remaining] == ["DDE302"]
    run.executed[str(tmp_path / "a.py")] = frozenset((6,))
    assert [d.code for d in report(run, files=1).remaining] == ["DDE302"]  # another row ran
    run.executed[str(tmp_path / "a.py")] = frozenset((6, 7))
    assert report(run, files=1).remaining == ()
