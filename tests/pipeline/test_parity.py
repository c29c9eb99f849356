"""Findings about parity, from measurements made by hand: what a session would have measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from ddelint.nouns.diagnostics import Applicability, Diagnostic, Span
from ddelint.nouns.measurements import Divergence, GpuParity, Parity, Remedy
from ddelint.nouns.protocol import EntryInfo
from ddelint.pipeline.gathering import Run, Sources
from ddelint.pipeline.parity import is_wanted, parity_findings
from ddelint.report.model import Silence
from ddelint.settings.options import CheckOptions

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures" / "rules"
FUSION = Divergence("fusion", {"local_buffer_data": 5}, {}, "hint")
WIDTH = Divergence("indexing width", {"i32": 2}, {"i64": 2}, "bound")
CHECK = Divergence("run-time check", {}, {"raise RuntimeError": 1})


@dataclass
class Measuring:
    """A session that answers with measurements, one after the other; the last one stays."""

    answers: list[Parity]
    asked: list[Mapping[str, str]] = field(default_factory=list)

    @property
    def info(self) -> EntryInfo:
        return EntryInfo("m.py:fn", ("x",), False, True, "2.13", ("cpu",), unbacked=("x.0",))

    def parity(self, overlay: Mapping[str, str], *, timed: bool) -> Parity:
        self.asked.append(overlay)
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


def run_of(path: Path, **settings: Any) -> Run:
    run = Run(CheckOptions(**settings), Silence(), Sources((str(path),), {}))
    assert str(path) in run.sources
    return run


def measured(path: Path, row: int, remedies: Sequence[Remedy] = (), *, unbacked: float = 1.5, **more: Any) -> Parity:
    return Parity(
        ("x.0",),
        changed=40,
        lines=200,
        remedies=tuple(remedies),
        backed_milliseconds=1.0,
        unbacked_milliseconds=unbacked,
        function=Span(str(path), row, 1, row, 2),
        **{"divergences": (FUSION, CHECK), **more},
    )


HINT = Remedy("hint", 3, (CHECK,), 1.01, {"x.0": 512})
CLOSED = Parity(("x.0",), changed=3, lines=180, divergences=(CHECK,))


def expected(path: Path) -> list[str]:
    rows = enumerate(path.read_text().splitlines(), 1)
    return [f"{line.rpartition('error: ')[2]}:{row}" for row, line in rows if "# error: " in line]


def placed(found: Sequence[Diagnostic]) -> list[str]:
    return [f"{diagnostic.code}:{diagnostic.span.row}" for diagnostic in found]


def test_a_hint_that_closes_the_gap_is_written_where_the_input_is_marked() -> None:
    path = FIXTURES / "DDE501" / "entry_measured.py"
    session, run = Measuring([measured(path, 12, [HINT]), CLOSED]), run_of(path)
    (found,) = parity_findings(session, run)  # type: ignore[arg-type]
    assert placed([found]) == expected(path)
    assert found.fix is not None
    assert (found.fix.applicability, found.fix.move) == (Applicability.SAFE, "optimization_hint")
    fixed = path.with_name("entry_measured_fixed.py").read_text()
    assert run.history is not None
    assert run.history.overlay == {str(path): fixed}
    assert session.asked[-1] == run.history.overlay
    assert found.evidence is not None
    assert found.evidence.parity == pytest.approx(1.01)
    assert found.evidence.notes == ("before: 1.50x the time of backed; now 3 lines of code differ (run-time check)",)


def test_what_does_not_help_when_it_is_written_is_refused() -> None:
    path = FIXTURES / "DDE501" / "entry_measured.py"
    run = run_of(path)
    session = Measuring([measured(path, 12, [HINT]), measured(path, 12, unbacked=1.48)])
    (found,) = parity_findings(session, run)  # type: ignore[arg-type]
    assert found.fix is None
    assert found.refused[0].reason == "no gain: 1.48x the time of backed"
    assert run.history is None


def test_no_measured_gap_is_no_finding() -> None:
    path = FIXTURES / "DDE501" / "entry_measured.py"
    for parity in (measured(path, 12, [HINT], unbacked=1.02), replace(CLOSED, changed=0, divergences=())):
        assert parity_findings(Measuring([parity]), run_of(path)) == []  # type: ignore[arg-type]


def test_a_bound_is_a_promise_in_the_function() -> None:
    path = FIXTURES / "DDE502" / "entry_measured.py"
    bound = Remedy("bound", 5, (CHECK,), 1.0, bounds={"x.0": 4194304})
    before = measured(path, 8, [bound], divergences=(WIDTH,))
    run = run_of(path)
    (found,) = parity_findings(Measuring([before, replace(CLOSED, changed=5)]), run)  # type: ignore[arg-type]
    assert placed([found]) == expected(path)
    assert found.fix is not None
    assert found.fix.applicability is Applicability.UNSAFE
    assert run.history is not None
    assert run.history.overlay == {}
    allowed = run_of(path, unsafe_fixes=True)
    parity_findings(Measuring([before, replace(CLOSED, changed=5)]), allowed)  # type: ignore[arg-type]
    assert allowed.history is not None
    assert allowed.history.overlay == {str(path): path.with_name("entry_measured_fixed.py").read_text()}


def test_a_gap_that_nothing_closes_is_told_with_what_differs() -> None:
    path = FIXTURES / "DDE504" / "entry_measured.py"
    useless = Remedy("hint", 40, (FUSION,), 1.49, {"x.0": 512})
    (found,) = parity_findings(Measuring([measured(path, 7, [useless])]), run_of(path))  # type: ignore[arg-type]
    assert placed([found]) == expected(path)
    assert found.fix is None
    assert "1.50x the time of backed on the cpu (fusion: backed has `local_buffer_data` ×5)" in found.message


def test_where_the_mark_is_not_ours_the_hint_is_for_a_person(tmp_path: Path) -> None:
    path = tmp_path / "m.py"
    path.write_text("def fn(x):\n    return x.sum(-1)\n")
    (found,) = parity_findings(Measuring([measured(path, 1, [HINT])]), run_of(path))  # type: ignore[arg-type]
    assert (found.code, found.span.row, found.span.column) == ("DDE501", 1, 8)
    assert found.fix is not None
    assert found.fix.applicability is Applicability.DISPLAY
    assert "mark_unbacked(x, 0, hint_override=512)" in found.fix.message


ON_GPU = GpuParity("sm_90", 94, 300, (FUSION, WIDTH, CHECK))


def compared(path: Path, row: int, on_gpu: GpuParity) -> Parity:
    """No time differs here; the code for a GPU does."""
    return measured(path, row, unbacked=1.0, on_gpu=on_gpu)


def test_gpu_code_alone_gives_a_finding_and_the_hint_that_settles_most() -> None:
    path = FIXTURES / "DDE501" / "entry_measured.py"
    remedies = (
        Remedy("hint", 13, (WIDTH, CHECK), values={"x.0": 512}),
        Remedy("bound", 90, (FUSION, WIDTH), bounds={"x.0": 1024}),
    )
    before = compared(path, 12, replace(ON_GPU, remedies=remedies))
    after = compared(path, 12, replace(ON_GPU, changed=13, divergences=(WIDTH, CHECK)))
    run = run_of(path)
    (found,) = parity_findings(Measuring([before, after]), run)  # type: ignore[arg-type]
    assert placed([found]) == expected(path)
    assert found.fix is not None
    assert (found.fix.applicability, found.fix.move) == (Applicability.SAFE, "optimization_hint")
    assert found.evidence is not None
    assert found.evidence.parity is None, "nothing was measured"
    assert found.evidence.notes == (
        "before: GPU code for sm_90: 94 lines differ from backed (fusion, indexing width, run-time check), not run; "
        "now 13 lines of code differ (indexing width, run-time check), not run",
    )
    assert run.history is not None
    assert run.history.overlay == {str(path): path.with_name("entry_measured_fixed.py").read_text()}


def test_gpu_code_that_a_written_hint_leaves_as_it_was_has_its_fix_refused() -> None:
    path = FIXTURES / "DDE501" / "entry_measured.py"
    helping = Remedy("hint", 13, (WIDTH, CHECK), values={"x.0": 512})
    run = run_of(path)
    session = Measuring([compared(path, 12, replace(ON_GPU, remedies=(helping,))), compared(path, 12, ON_GPU)])
    (found,) = parity_findings(session, run)  # type: ignore[arg-type]
    assert (found.fix, run.history) == (None, None)
    assert found.refused[0].reason == "no gain: 94 lines of code differ (fusion, indexing width, run-time check)"


def test_both_bounds_of_a_size_are_one_promise() -> None:
    path = FIXTURES / "DDE502" / "entry_measured.py"
    remedies = (
        Remedy("hint and bound", 90, (FUSION, CHECK), bounds={"x.0": 4194304}),
        Remedy("hint and both bounds", 9, (CHECK,), lowers={"x.0": 2}, bounds={"x.0": 4194304}),
    )
    before = compared(path, 8, replace(ON_GPU, remedies=remedies))
    after = compared(path, 8, replace(ON_GPU, changed=9, divergences=(CHECK,)))
    run = run_of(path, unsafe_fixes=True)
    (found,) = parity_findings(Measuring([before, after]), run)  # type: ignore[arg-type]
    assert found.fix is not None
    assert (found.code, found.fix.applicability) == ("DDE502", Applicability.UNSAFE)
    assert found.fix.message.startswith("promise that the size is 2 to 4194304")
    checks = "    torch._check(x.shape[0] >= 2)\n    torch._check(x.shape[0] <= 4194304)\n"
    assert run.history is not None
    assert checks in run.history.overlay[str(path)]


@pytest.mark.parametrize(
    ("on_gpu", "codes"),
    [
        (replace(ON_GPU, remedies=(Remedy("hint", 80, (FUSION, WIDTH), values={"x.0": 512}),)), ["DDE504"]),
        (replace(ON_GPU, divergences=(CHECK,)), []),
        (replace(ON_GPU, notes=("not compared: no Triton",)), []),
    ],
)
def test_gpu_code_whose_difference_costs_nothing_or_is_unknown_is_no_finding(
    on_gpu: GpuParity, codes: list[str]
) -> None:
    path = FIXTURES / "DDE504" / "entry_measured.py"
    found = parity_findings(Measuring([compared(path, 7, on_gpu)]), run_of(path))  # type: ignore[arg-type]
    assert [one.code for one in found] == codes
    assert all("slower" not in one.message and one.message.endswith("not run") for one in found)
    closest = "; with hint x.0=512: 80 lines differ (fusion, indexing width)"
    assert all(one.detail is not None and one.detail.endswith(closest) for one in found), "what comes closest is told"


@pytest.mark.parametrize(
    ("select", "extend", "wanted"),
    [
        (("DDE",), (), False),
        (("DDE5",), (), True),
        (("DDE504",), (), True),
        (("DDE503",), (), False),
        (("DDE",), ("DDE501",), True),
    ],
)
def test_it_costs_compilations_so_it_is_asked_for_by_name(
    select: tuple[str, ...], extend: tuple[str, ...], wanted: bool
) -> None:
    assert is_wanted(CheckOptions(select=select, extend_select=extend)) is wanted
