"""A target that fails where no line of the files that are checked can be blamed is told all the same."""

from __future__ import annotations

from ddelint.nouns.diagnostics import Question, Span
from ddelint.nouns.protocol import UNFINISHED, Compilation, TargetResult
from ddelint.pipeline.searching import fails_elsewhere

ASKED = Question(Span("model.py", 3, 5, 3, 9), "other", "", "")


def test_a_failure_without_a_line_is_told() -> None:
    results = (
        TargetResult("export", "cpu", ok=False, error="RuntimeError: a fake tensor among the constants"),
        TargetResult("compile", "cpu", ok=True),
    )

    assert fails_elsewhere("model.py:Model", Compilation(results)) == [
        "model.py:Model: export fails all the same, in no file that is checked: "
        "RuntimeError: a fake tensor among the constants"
    ]


def test_what_took_too_long_is_not_known() -> None:
    results = (TargetResult("compile", "cpu", ok=False, error=f"{UNFINISHED} within 3 s"),)
    assert fails_elsewhere("model.py:Model", Compilation(results)) == [
        "model.py:Model: whether compile takes the program is not known: it did not finish within 3 s"
    ]


def test_what_has_a_line_is_told_elsewhere() -> None:
    results = (
        TargetResult("export", "cpu", ok=False, error="RuntimeError: no", questions=(ASKED,)),
        TargetResult("strict", "cpu", ok=False),
    )

    assert fails_elsewhere("model.py:Model", Compilation(results)) == []
    assert fails_elsewhere("model.py:Model", None) == []
