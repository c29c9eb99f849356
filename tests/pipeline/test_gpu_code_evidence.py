"""What is said of the code for a GPU stands beside the fixes, and what was not done has a reason."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from ddelint.nouns.diagnostics import Applicability, Claim, Diagnostic, Edit, Evidence, Fix, GpuEvidence, Span
from ddelint.pipeline.gpu_code import (
    ASSEMBLED,
    INTERPRETED,
    doubted,
    held_against_safe_fixes,
    wanted,
    with_gpu_code,
    without_gpu_code,
)
from ddelint.rewrite.search.history import History
from ddelint.settings.options import CheckOptions
from ddelint.sources.source import SourceFile

EDIT = Edit(Span("m.py", 1, 1, 1, 2), "b")
FIXED = Diagnostic(
    "DDE102",
    "asks",
    EDIT.span,
    fix=Fix(Applicability.SAFE, "do", (EDIT,), "check", Claim.EQUIVALENT),
    evidence=Evidence(compile=True, devices=("cpu",), notes=("said",)),
)
GPU = GpuEvidence("sm_90", "H100", assembled=True, notes=("not interpreted: no time",))


def info(*devices: str, triton: bool = True) -> Any:
    return SimpleNamespace(devices=devices, triton=triton)


@pytest.mark.parametrize(
    ("options", "machine", "level"),
    [
        ({"gpu": "sm_80"}, info("cpu"), INTERPRETED),
        ({"gpu": "sm_80"}, info("cpu", "cuda"), INTERPRETED),
        ({"device": "cuda"}, info("cpu"), INTERPRETED),
        ({"device": "cuda"}, info("cpu", "cuda"), ""),
        ({"device": "auto"}, info("cpu"), ASSEMBLED),
        ({"device": "auto"}, info("cpu", triton=False), ""),
        ({"device": "cpu"}, info("cpu"), ""),
        ({"gpu": "sm_80", "targets": ("export",)}, info("cpu"), ""),
    ],
)
def test_how_far_to_go(options: dict[str, Any], machine: Any, level: str) -> None:
    assert wanted(CheckOptions(**options), machine) == level


def test_what_compiles_carries_it_with_its_notes() -> None:
    (found,) = with_gpu_code([FIXED], GPU)
    assert found.evidence is not None
    assert found.evidence.gpu == GPU
    assert found.evidence.notes == ("said", "GPU code for sm_90: not interpreted: no time")
    assert with_gpu_code([FIXED], None) == [FIXED]


def test_run_is_said_where_it_was_compiled_for_a_gpu_that_is_there() -> None:
    assert FIXED.evidence is not None
    there = replace(FIXED, evidence=replace(FIXED.evidence, devices=("cpu", "cuda")))
    (found,) = with_gpu_code([there], GPU)
    assert found.evidence is not None
    assert found.evidence.gpu is not None
    assert found.evidence.gpu.run is True


def test_what_does_not_compile_says_why_nothing_is_known_of_its_code() -> None:
    assert FIXED.evidence is not None
    failing = replace(FIXED, evidence=replace(FIXED.evidence, compile=False))
    (found,) = without_gpu_code([failing], CheckOptions(gpu="H100"), info("cpu"))
    assert found.evidence is not None
    assert found.evidence.gpu == GpuEvidence("sm_90", "H100")
    assert "GPU code for sm_90: not assembled: torch.compile fails on the CPU" in found.evidence.notes
    assert without_gpu_code([failing], CheckOptions(), info("cpu")) == [failing], "nobody asks"
    assert without_gpu_code([FIXED], CheckOptions(gpu="H100"), info("cpu")) == [FIXED]


UNTOUCHED = History({"m.py": SourceFile("m.py", "a = 1\n", "utf-8")})
ONE, BOTH = UNTOUCHED.add((EDIT,), 1), UNTOUCHED.add((EDIT, Edit(Span("m.py", 1, 5, 1, 6), "2")), 1)
OTHER_RESULT = replace(GPU, interpreted=False, differs="seed 0, value: expected 1, got 2")


@pytest.mark.parametrize(
    ("safe", "everything", "alone", "held"),
    [
        (ONE, ONE, None, True),
        (ONE, BOTH, OTHER_RESULT, True),
        (ONE, BOTH, GPU, False),
        (UNTOUCHED, ONE, None, False),
    ],
)
def test_another_result_on_a_declared_input_is_held_against_safe_fixes_that_show_it(
    safe: History, everything: History, alone: GpuEvidence | None, held: bool
) -> None:
    session: Any = SimpleNamespace(
        info=info("cpu"),
        gpu=lambda overlay, *_, **__: SimpleNamespace(evidence=alone if "b" in overlay["m.py"] else None),
    )
    outcome: Any = SimpleNamespace(safe=safe, everything=everything)
    reason = held_against_safe_fixes(session, outcome, OTHER_RESULT, CheckOptions(gpu="sm_90"))
    assert bool(reason) is held
    assert reason in ("", "GPU code for sm_90: seed 0, value: expected 1, got 2")
    assert held_against_safe_fixes(session, outcome, GPU, CheckOptions(gpu="sm_90")) == ""


def test_what_is_held_against_a_fix_is_its_reason() -> None:
    (found,) = doubted([FIXED], "differs")
    assert found.fix is not None
    assert (found.fix.applicability, found.fix.reasons) == (Applicability.UNSAFE, ("differs",))
    assert FIXED.evidence is not None
    apart = replace(FIXED, evidence=replace(FIXED.evidence, compile=None))
    assert doubted([apart], "differs") == [apart]
