"""What `verify` prints."""

from __future__ import annotations

import json

from ddelint.nouns.diagnostics import Question, Span
from ddelint.nouns.protocol import Comparison, Compilation, EntryFailure, Mismatch, TargetResult
from ddelint.report import verification
from ddelint.report.style import Style
from ddelint.report.verified import Verification, VerifyReport

OFF = Mismatch("seed 3", True, "compile", "value", "tensor([1.])", "tensor([2.])")
QUESTION = Question(Span("model.py", 4, 8, 4, 13), "truth", "n > 4", "u0 > 4")


def text_of(*verifications: Verification) -> str:
    return "\n".join(verification.render_text(VerifyReport(verifications), Style()))


def test_what_agrees_is_said_in_a_line_each() -> None:
    results = (TargetResult("export", "cpu", True, replayed=8), TargetResult("compile", "cuda", True, graphs=1))
    passing = Verification("m.py:Model", None, Comparison(8, 4, True), Compilation(results, backward=True))
    assert passing.passed
    assert text_of(passing) == (
        "m.py:Model\n"
        "  ok     traced path        8 inputs, 4 of them declared\n"
        "  ok     export             8 inputs\n"
        "  ok     compile on cuda    1 graph\n"
        "  ok     backward\n"
        "All targets agree with eager."
    )


def test_what_differs_is_shown_under_its_target() -> None:
    results = (
        TargetResult("export", "cpu", False, (QUESTION,), "Could not guard\nand more"),
        TargetResult("compile", "cpu", True, mismatches=(OFF,) * 7),
    )
    failing = Verification("m.py:Model", compilation=Compilation(results))
    shown = text_of(failing)
    assert not failing.passed
    assert "FAILS  export             Could not guard\n      model.py:4:8 asks `n > 4`" in shown
    assert shown.count("expected tensor([1.]), got tensor([2.])") == 5
    assert "… 2 more" in shown
    assert shown.endswith("1 of 1 failed")


def test_an_entry_that_fails_in_eager_fails() -> None:
    failing = Verification("m.py:Model", EntryFailure("raised", "ValueError: no", traceback="Traceback\n  line\n"))
    assert not failing.passed
    assert "FAILS  eager              ValueError: no\n      Traceback\n        line" in text_of(failing)


def test_what_was_not_run_is_null_and_never_passes() -> None:
    (value,) = json.loads(verification.render_json(VerifyReport((Verification("m.py:Model"),))))
    assert (value.pop("label"), value.pop("passed")) == ("m.py:Model", False)
    assert value == dict.fromkeys(("failure", "comparison", "compilation", "parity", "benchmark", "gpu"))
