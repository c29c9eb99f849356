"""The table of a benchmark, and the words for unbacked against backed."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

from ddelint.nouns.diagnostics import GpuCounts, GpuEvidence, KernelCost
from ddelint.nouns.measurements import Arm, Benchmark, Divergence, Measured, Parity, Remedy
from ddelint.nouns.protocol import Comparison, Compilation, TargetResult
from ddelint.nouns.wire import from_wire, to_wire
from ddelint.report import measurements, verification
from ddelint.report.style import Style, width_of
from ddelint.report.verified import Verification, VerifyReport

ORIGINAL = Measured(
    (
        Arm("original", "eager", "", 1.0, 0.9, 1.1, kernels=12, host_syncs=2, agrees=True),
        Arm("original", "compiled", "", 0.8, 0.7, 0.9, 9.5, 3, 3, 6, 2, 4, "", True),
    ),
    device_name="A Processor",
    torch_version="2.13.0",
    timer="torch.utils.benchmark",
    batch=("x: float32[512, 64]",),
    sample="seed 0",
)
FUSION = Divergence("fusion", {"local_buffer_data": 5}, {"#pragma GCC ivdep": 3}, "hint")
CHECK = Divergence("run-time check", {}, {"raise RuntimeError": 1})
PARITY = Parity(
    ("x.0",),
    changed=61,
    lines=300,
    divergences=(FUSION, CHECK),
    remedies=(Remedy("hint", 3, (CHECK,), 0.252, {"x.0": 512}),),
    backed_milliseconds=0.25,
    unbacked_milliseconds=0.4,
)
FIXED = Measured(
    (
        Arm("fixed", "eager", "", 1.0, 0.9, 1.2, kernels=12, host_syncs=2, agrees=True),
        Arm("fixed", "fullgraph", "", 0.4, 0.39, 0.45, 12.0, 1, 1, 4, 0, 0, "n/a: no device", True),
        Arm("fixed", "backed", "Unsupported: no\nmore"),
    ),
    PARITY,
)
BENCHMARK = Benchmark(
    "m.py:Model", "2026-01-01T00:00:00+00:00", (ORIGINAL, FIXED), "fixed: what --fix makes of it (2 fixes)"
)


def test_the_table(expect: Callable[[str, str], None]) -> None:
    lines = [*measurements.render_benchmark(BENCHMARK, Style()), *measurements.render_parity(PARITY, Style())]
    assert max(map(width_of, lines)) <= 120
    expect("benchmark", "\n".join(line.rstrip() for line in lines) + "\n")


def test_equal_counts_promise_nothing() -> None:
    one, two = ORIGINAL.arms[1], replace(FIXED.arms[1], launches=3, kernels=6, host_syncs=2, recompiles=4)
    same = Benchmark("m", "", (replace(ORIGINAL, arms=(one, two)),))
    assert "expect no gain" in "\n".join(measurements.render_benchmark(same, Style()))
    assert "expect no gain" not in "\n".join(measurements.render_benchmark(BENCHMARK, Style()))


def test_a_wrong_result_is_said_under_the_table() -> None:
    wrong = replace(FIXED.arms[1], agrees=False, difference="value: expected 1.0, got 2.0")
    told = "\n".join(measurements.render_benchmark(Benchmark("m", "", (replace(ORIGINAL, arms=(wrong,)),)), Style()))
    assert "fixed, fullgraph: the result differs from the original in eager (value: expected 1.0, got 2.0)" in told


def test_what_was_not_run_has_no_numbers() -> None:
    missing = Arm("original", "eager", "n/a: no device")
    told = list(measurements.render_benchmark(Benchmark("m", "", (replace(ORIGINAL, arms=(missing,)),)), Style()))
    assert told[-1].split("  ")[1:] == ["original, eager", "n/a: no device"]


def test_the_same_code_is_said_in_one_line() -> None:
    assert list(measurements.render_parity(Parity(("x.0", "y.1"), lines=9), Style())) == [
        "  parity: the code for unbacked x.0, y.1 is that for backed"
    ]


def test_measurements_cross_the_wire() -> None:
    assert from_wire(Benchmark, json.loads(json.dumps(to_wire(BENCHMARK)))) == BENCHMARK


def test_verify_prints_and_stores_them() -> None:
    found = Verification(
        "m.py:Model",
        comparison=Comparison(8, 4, True),
        compilation=Compilation((TargetResult("compile", "cpu", True),)),
        parity=PARITY,
        benchmark=BENCHMARK,
    )
    report = VerifyReport((found,))
    text = "\n".join(verification.render_text(report, Style()))
    assert "original, eager" in text
    assert "1.60x the time" in text
    (stored,) = json.loads(verification.render_json(report))
    assert [arm["how"] for measured in stored["benchmark"]["measured"] for arm in measured["arms"]] == [
        "eager", "compiled", "eager", "fullgraph", "backed",
    ]  # fmt: skip
    assert stored["parity"]["changed"] == 61


def test_what_gpu_code_says_stands_beside_its_arm() -> None:
    gpu = GpuEvidence(
        "sm_90",
        launches=3,
        library_calls=2,
        eager_operators=0,
        host_reads=0,
        before=GpuCounts(2, 5, 4, 1, 9, 7, 1.5),
        bound_microseconds=0.25,
        per_kernel=(KernelCost("triton_poi_fused_add_0", calls=3, registers=30),),
    )
    arms = (
        Arm("original", "eager", milliseconds=4.0),
        Arm("original", "compiled", milliseconds=3.0),
        Arm("fixed", "fullgraph", milliseconds=2.0),
    )
    benchmark = Benchmark("m", "", (replace(ORIGINAL, arms=arms),))
    lines = list(measurements.render_benchmark(benchmark, Style(), gpu))
    at = next(number for number, line in enumerate(lines) if "sm_90 launches" in line)
    heading, eager, compiled, fullgraph = [line.split() for line in lines[at : at + 4]]
    assert any(line.endswith("triton_poi_fused_add_0") for line in lines[at + 4 :]), "and kernel by kernel"
    assert " ".join(heading).endswith("sm_90 launches sm_90 library calls sm_90 in eager sm_90 host reads sm_90 bound")
    assert compiled[-6:] == ["4", "1", "9", "7", "1.5", "us"]
    assert fullgraph[-6:] == ["3", "2", "0", "0", "0.25", "us"]
    assert eager[-1] == "1.00x"
    assert "sm_90" not in "".join(measurements.render_benchmark(benchmark, Style(), GpuEvidence("sm_90")))
