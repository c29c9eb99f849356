"""Assembled, interpreted and run are told apart, in every format."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

from ddelint.nouns.diagnostics import (
    Applicability,
    Claim,
    Diagnostic,
    Edit,
    Evidence,
    Fix,
    GpuCounts,
    GpuEvidence,
    KernelCost,
    Span,
)
from ddelint.report import formats
from ddelint.report.console import evidence_words
from ddelint.report.evidence import verified_line
from ddelint.report.gpu_words import counts, details, level, per_kernel, plain
from ddelint.report.html import mark
from ddelint.report.json_ import finding as as_json
from ddelint.report.model import Report
from ddelint.report.style import Style

ASSEMBLED = GpuEvidence("sm_90", "H100", assembled=True, kernels=2, registers=30, spilled=0, shared=0)
INTERPRETED = replace(
    ASSEMBLED,
    interpreted=True,
    inputs=12,
    launches=3,
    library_calls=2,
    eager_operators=0,
    host_reads=1,
    before=GpuCounts(2, 5, 4, 1, 7, 2),
    bytes_moved=335,
    bound_microseconds=0.0001,
    cuda_graphs="not safe: 1 host read",
    per_kernel=(
        KernelCost("triton_poi_fused_add_0", False, 2, 30, 0, 0, 223, 56, 0.00006),
        KernelCost("triton_red_fused_sum_1", False, 0, 12, 0, 64),
        KernelCost("aten::addmm", True, 1, bytes_moved=112, operations=2048, bound_microseconds=0.00004),
    ),
)
SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "findings.schema.json").read_text("utf-8"))


def evidence(gpu: GpuEvidence | None) -> Evidence:
    return Evidence(samples=16, compile=True, devices=("cpu",), notes=("cuda not run: no device",), gpu=gpu)


@pytest.mark.parametrize(
    ("gpu", "text"),
    [
        (ASSEMBLED, "assembled, not interpreted, not run"),
        (INTERPRETED, "assembled, interpreted on 12 inputs, equal, not run"),
        (replace(INTERPRETED, interpreted=False, inputs=1), "assembled, interpreted on 1 input, differs, not run"),
        (replace(ASSEMBLED, assembled=False), "does not assemble, not interpreted, not run"),
        (replace(INTERPRETED, run=True), "assembled, interpreted on 12 inputs, equal, run, equal"),
        (GpuEvidence("sm_90"), "not made"),
    ],
)
def test_the_levels_are_words_of_their_own(gpu: GpuEvidence, text: str) -> None:
    assert level(gpu) == f"GPU code for sm_90: {text}"


@pytest.mark.parametrize("gpu", [ASSEMBLED, INTERPRETED])
def test_what_was_not_run_is_never_called_run(gpu: GpuEvidence) -> None:
    for line in (level(gpu), verified_line(evidence(gpu)), *evidence_words(evidence(gpu)), *details(gpu)):
        assert not re.search(
            r"cuda ok|(?<!not )\brun\b(?! on| a)|measured(?<!not measured)", line.replace("not run", "")
        )


def test_the_line_of_a_pull_request_carries_them() -> None:
    line = verified_line(evidence(INTERPRETED))
    assert "GPU code for sm_90: assembled, interpreted on 12 inputs, equal" in line
    assert "cuda n/a" not in line
    assert "cuda n/a" in verified_line(evidence(None))
    nothing = verified_line(evidence(GpuEvidence("sm_90", notes=("not assembled: no triton",))))
    assert nothing.endswith("cuda n/a, GPU code for sm_90: not made"), "it was asked for"


@pytest.mark.parametrize(
    ("gpu", "marked"),
    [
        (INTERPRETED, "open"),
        (replace(INTERPRETED, interpreted=False), "bad"),
        (replace(ASSEMBLED, assembled=False), "bad"),
        (replace(INTERPRETED, run=True), "good"),
        (GpuEvidence("sm_90"), "open"),
    ],
)
def test_a_page_marks_what_was_not_done(gpu: GpuEvidence, marked: str) -> None:
    assert mark(level(gpu)) == marked


@pytest.mark.parametrize("name", ["markdown", "sarif", "junit", "github", "gitlab", "html", "full"])
def test_every_format_for_people_and_forges_carries_that_line(name: str) -> None:
    edit = Edit(Span("m.py", 1, 1, 1, 2), "b")
    fix = Fix(Applicability.SAFE, "do", (edit,), "check", Claim.EQUIVALENT)
    finding = Diagnostic("DDE102", "asks", edit.span, fix=fix, evidence=evidence(INTERPRETED))
    told = formats.render(Report((finding,)), formats.Rendering(Style(), name, "ddelint check m.py"))
    assert "GPU code for sm_90: assembled, interpreted on 12 inputs, equal, not run" in " ".join(told.split())


def test_counts_stand_beside_those_of_the_original() -> None:
    told = "3 launches (before 4), 2 library calls (before 1)"
    assert counts(INTERPRETED) == f"{told}, 0 operators in eager (before 7), 1 host read (before 2)"
    unbroken = replace(INTERPRETED, before=GpuCounts(2, 5, 4, 1, 0, 2))
    assert counts(unbroken) == f"{told}, 1 host read (before 2)", "there are none, and were none"
    assert counts(ASSEMBLED) == ""
    assert any("a bound of 0.0001 us on H100" in line and "not measured" in line for line in details(INTERPRETED))


def test_each_kernel_has_a_row_and_each_bound_is_called_one() -> None:
    heading, columns, added, product, more = per_kernel(INTERPRETED)
    assert "bounds on H100, not measured" in heading
    assert " ".join(columns.split()) == "calls registers spilled shared bytes moved operations bound kernel"
    assert " ".join(added.split()) == "2 30 0 0 223 56 6e-05 us triton_poi_fused_add_0"
    assert " ".join(product.split()) == "1 112 2048 4e-05 us aten::addmm (library)"
    assert more == "1 more kernel is for gradients, or for other sizes"
    assert list(per_kernel(ASSEMBLED)) == [], "nothing was launched"


@pytest.mark.parametrize("gpu", [None, ASSEMBLED, INTERPRETED, GpuEvidence("sm_80")])
def test_the_json_obeys_the_schema(gpu: GpuEvidence | None) -> None:
    span = Span("m.py", 1, 1, 1, 2)
    fix = Fix(Applicability.SAFE, "do", (), "check", Claim.EQUIVALENT)
    told = as_json(Diagnostic("DDE102", "asks", span, fix=fix, evidence=evidence(gpu)))
    jsonschema.validate([told], SCHEMA)
    assert told["evidence"]["gpu"] == plain(gpu)
    if gpu is not None and gpu.run is None:
        assert told["evidence"]["gpu"]["run"] is None
