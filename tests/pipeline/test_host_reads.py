"""DDE503 from the code for a GPU: what a session would have read off it, put where the program asks."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from ddelint.nouns.diagnostics import Edit, GpuCounts, GpuEvidence, Span
from ddelint.nouns.protocol import EntryInfo, GpuCode, HostRead
from ddelint.pipeline.gathering import Run, Sources
from ddelint.pipeline.host_reads import host_read_findings, is_wanted
from ddelint.report.model import Silence
from ddelint.rewrite.search.history import History
from ddelint.settings.options import CheckOptions

EVIDENCE = GpuEvidence("sm_90", "H100", True, True, 1, host_reads=3, before=GpuCounts(host_reads=4), notes=("said",))


@dataclass
class Reading:
    """A session whose code for a GPU waits at these places."""

    reads: tuple[HostRead, ...]
    devices: tuple[str, ...] = ("cpu",)
    asked: list[dict[str, str]] = field(default_factory=list)

    @property
    def info(self) -> EntryInfo:
        return EntryInfo("m.py:fn", ("x",), False, True, "2.13", self.devices)

    def gpu(self, overlay: dict[str, str], samples: int, *, interpreted: bool) -> GpuCode:
        assert interpreted
        self.asked.append(overlay)
        return GpuCode(EVIDENCE, reads=self.reads)


def run_of(path: Path, text: str, **settings: Any) -> Run:
    path.write_text(text)
    run = Run(CheckOptions(**{"gpu": "sm_90", **settings}), Silence(), Sources((str(path),), {}))
    assert str(path) in run.sources
    return run


def row_of(path: Path, row: int) -> Span:
    """A row of which the stack does not say the part."""
    line = path.read_text().splitlines()[row - 1]
    return Span(str(path), row, len(line) - len(line.lstrip()) + 1, row, len(line) + 1)


@pytest.mark.parametrize(
    ("body", "operator", "expression"),
    [
        ("r = (x > 0).nonzero().squeeze(1)", "aten::nonzero", "(x > 0).nonzero()"),
        ("return x[x > 0].sum() + x[:2].sum()", "aten::index", "x[x > 0]"),
        ("v = torch.unique(\n        x,\n    )", "aten::_unique2", "torch.unique( x, )"),
        ("n = x.abs().max().item() * x[0]", "aten::_local_scalar_dense", "x.abs().max().item()"),
        ("z = torch.masked_select(y, y > 1); w = z.sum()", "aten::masked_select", "torch.masked_select(y, y > 1)"),
        ("n = helper(x)", "aten::nonzero", "n = helper(x)"),
    ],
)
def test_a_read_stands_where_its_operator_is_called(tmp_path: Path, body: str, operator: str, expression: str) -> None:
    path = tmp_path / "m.py"
    run = run_of(path, f"def fn(x, y):\n    {body}\n")
    elsewhere = Span("/elsewhere/torch/functional.py", 5, 1, 5, 9)
    session = Reading((HostRead(operator, 1, (row_of(path, 2), elsewhere)),))
    (found,) = host_read_findings(session, run)  # type: ignore[arg-type]
    assert (found.code, found.expression, found.span.row) == ("DDE503", expression, 2)
    assert found.evidence is not None
    assert found.evidence.gpu is not None
    assert (found.evidence.gpu.run, found.evidence.notes) == (None, ("said",))
    assert found.detail == f"in the code for sm_90, not run: {operator} ×1, of 3 in one call (4 before)"


def test_reads_of_the_fixed_text_stand_in_the_original(tmp_path: Path) -> None:
    path = tmp_path / "m.py"
    run = run_of(path, "def fn(x):\n    y = x\n    return y.nonzero()\n")
    new = Edit(Span(str(path), 2, 5, 2, 10), "y = x\n    torch._check(True)")
    run.history = History(run.sources).add([new], 1)
    read = HostRead("aten::nonzero", 2, (Span(str(path), 4, 12, 4, 23),))
    session = Reading((read, read, HostRead("aten::nonzero", 1)))
    (found,) = host_read_findings(session, run)  # type: ignore[arg-type]
    assert (found.span.row, found.expression) == (3, "y.nonzero()")
    assert "torch._check" in session.asked[0][str(path)]
    run.traced.append(found)
    assert host_read_findings(session, run) == [], "what is known is not said again"  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("settings", "devices", "asked"),
    [
        ({}, ("cpu",), True),
        ({"gpu": "", "device": "cuda"}, ("cpu",), True),
        ({"gpu": "", "device": "auto"}, ("cpu",), False),
        ({"gpu": "", "device": "cuda"}, ("cpu", "cuda"), False),
    ],
)
def test_the_code_is_made_where_a_gpu_is_asked_for_that_is_not_there(
    tmp_path: Path, settings: dict[str, str], devices: tuple[str, ...], asked: bool
) -> None:
    session = Reading((), devices)
    run = run_of(tmp_path / "m.py", "def fn(x):\n    return x\n", **settings)
    assert host_read_findings(session, run) == []  # type: ignore[arg-type]
    assert bool(session.asked) is asked


@pytest.mark.parametrize(
    ("select", "extend", "expected"),
    [
        (("DDE",), (), False),
        (("DDE5",), (), True),
        (("DDE503",), (), True),
        (("DDE501",), (), False),
        (("DDE",), ("DDE50",), True),
    ],
)
def test_it_costs_a_compilation_so_it_is_asked_for_by_name(
    select: tuple[str, ...], extend: tuple[str, ...], expected: bool
) -> None:
    assert is_wanted(CheckOptions(select=select, extend_select=extend)) is expected
