"""What the evidence says of differences: each once."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ddelint.nouns.diagnostics import Applicability, Claim, Diagnostic, Edit, Span
from ddelint.nouns.protocol import Comparison, Compilation, Mismatch, TargetResult
from ddelint.rewrite.candidate import Candidate
from ddelint.rewrite.search.history import History
from ddelint.rewrite.search.reporting import GENERATED_CODE_DIFFERS, _difference, _passed, diagnostics
from ddelint.rewrite.search.steps import Key, State, Step
from ddelint.sources.source import SourceFile

EXPORT = Mismatch("x all zero", False, "export", "exception", "a result", "RuntimeError: max()")


@pytest.mark.parametrize(
    ("notes", "said"),
    [
        ([], "export, x all zero: exception differs (expected a result, got RuntimeError: max())"),
        (
            ["on x all ones: traced path, x all ones: exception differs (expected a result, got RuntimeError: max())"],
            "export, x all zero: exception differs (expected a result, got RuntimeError: max())",
        ),
        (
            ["made by us: traced path, x all zero: exception differs (expected a result, got RuntimeError: max())"],
            "export differs there, too",
        ),
    ],
)
def test_a_difference_that_is_known_is_not_described_again(notes: list[str], said: str) -> None:
    assert _difference(EXPORT, "export", notes) == said


@pytest.mark.parametrize(
    ("target", "declared", "notes", "passed"),
    [
        ("compile", False, (GENERATED_CODE_DIFFERS,), True),
        ("compile", True, (GENERATED_CODE_DIFFERS,), False),
        ("compile", False, (), False),
        ("export", False, (GENERATED_CODE_DIFFERS,), False),
    ],
)
def test_a_right_graph_passes_whatever_is_made_of_it_on_inputs_that_nobody_declared(
    target: str, declared: bool, notes: tuple[str, ...], passed: bool
) -> None:
    found = Mismatch("x all nan", declared, target, "value", "nan", "0.0")
    result = TargetResult(target, "cpu", ok=True, mismatches=(found,))
    assert _passed(result, [found], Compilation((result,), notes=notes)) is passed


def state_of(*labels: Applicability) -> State:
    """A line and a fix for each label, and what stopped export before."""
    history = History({"m.py": SourceFile("m.py", "x\n" * len(labels))})
    steps = []
    for row, label in enumerate(labels, 1):
        span = Span("m.py", row, 1, row, 2)
        candidate = Candidate("where_merge", Claim.RESTRUCTURED, "both", (Edit(span, "y"),))
        history = history.add(candidate.edits, row)
        key = Key("m.py", row, 1, "x", "truth")
        steps.append(Step(row, key, Diagnostic("DDE105", "asks", span), candidate, (), label, (), None))
    failing = Diagnostic("DDE005", "tracing stops here", Span("m.py", 1, 1, 1, 2), asks=("export", "strict"))
    return State(history, steps, others={Key("m.py", 1, 1, "x", "other"): failing})


def test_a_safe_fix_says_which_unsafe_ones_it_was_compiled_with() -> None:
    state = state_of(Applicability.SAFE, Applicability.UNSAFE)
    state.compilation = Compilation((TargetResult("export", "cpu", ok=True),))
    first, second = diagnostics(state, State(state.history, state.steps[:1]), Comparison(8, 8, True, {}, ()))
    assert first.evidence is not None
    assert "export and compile were run with what is unsafe in it, too (line 2)" in first.evidence.notes
    assert second.evidence is not None
    assert not any("what is unsafe" in note for note in second.evidence.notes)
    state = state_of(Applicability.SAFE, Applicability.UNSAFE, Applicability.UNSAFE)
    state.compilation = Compilation((TargetResult("export", "cpu", ok=True),))
    first, *_ = diagnostics(state, State(state.history, state.steps[:1]), Comparison(8, 8, True, {}, ()))
    assert first.evidence is not None
    assert any(note.endswith("(lines 2, 3)") for note in first.evidence.notes)


def test_what_is_given_up_is_named_by_its_question_since_its_rule_may_become_another_one() -> None:
    state = state_of(Applicability.UNSAFE)
    step = state.steps[0]
    state.given_up = {step.key: Diagnostic("DDE105", "asks", Span("m.py", 7, 1, 7, 2), expression="norm > limit")}
    found = diagnostics(state, State(state.history, state.steps[:1]), Comparison(8, 8, True, {}, ()))
    (evidence,) = (diagnostic.evidence for diagnostic in found if diagnostic.evidence is not None)
    assert any("`norm > limit` at line 7 is still open" in note for note in evidence.notes)


def test_an_unsafe_fix_where_a_safe_one_went_half_of_the_way_is_a_finding_of_its_own() -> None:
    state = state_of(Applicability.SAFE)
    first = state.steps[0]
    state.steps.append(replace(first, number=2, applicability=Applicability.UNSAFE, reasons=("doubted",)))
    found = diagnostics(state, State(state.history, [first]), Comparison(8, 8, True, {}, ()))
    labels = [one.fix.applicability for one in found if one.fix is not None and one.span == first.diagnostic.span]
    assert labels == [Applicability.SAFE, Applicability.UNSAFE]


def test_two_fixes_at_one_place_are_two_findings() -> None:
    state = state_of(Applicability.UNSAFE)
    second = Candidate("outline", Claim.RESTRUCTURED, "a custom operator", (Edit(Span("m.py", 1, 1, 1, 2), "z"),))
    state.history = state.history.add(second.edits, 2)
    state.steps.append(replace(state.steps[0], number=2, candidate=second))
    found = diagnostics(state, State(state.history, []), Comparison(8, 8, True, {}, ()))
    fixes = [(one.fix.message, one.message) for one in found if one.fix is not None]
    assert fixes == [("both", "asks"), ("a custom operator", "asks, also behind another fix here")]


def test_what_still_stops_a_front_end_is_named_where_something_else_in_the_same_words_was_fixed() -> None:
    state = state_of(Applicability.UNSAFE)
    (key, failing) = next(iter(state.others.items()))
    state.others[key] = replace(failing, code="DDE105", message="asks.")
    state.compilation = Compilation((TargetResult("export", "cpu", ok=False),))
    found = diagnostics(state, State(state.history, []), Comparison(8, 8, True, {}, ()))
    assert [one.message for one in found if one.fix is None] == ["asks, also behind another fix here"]


@pytest.mark.parametrize(("passes", "codes"), [(True, ["DDE105"]), (False, ["DDE005", "DDE105"])])
def test_what_stopped_a_front_end_is_not_named_where_that_takes_the_fixed_program(
    passes: bool, codes: list[str]
) -> None:
    state = state_of(Applicability.SAFE)
    state.compilation = Compilation((TargetResult("export", "cpu", ok=passes),))
    found = diagnostics(state, state, Comparison(8, 8, True, {}, ()))
    assert [diagnostic.code for diagnostic in found] == codes
    state.compilation = None
    assert len(diagnostics(state, state, Comparison(8, 8, True, {}, ()))) == 2


@pytest.mark.parametrize(
    ("reason", "stands"), [("export fails with it: AssertionError: a", False), ("it is a promise", True)]
)
def test_what_a_fix_is_blamed_for_is_no_finding_beside_it(reason: str, stands: bool) -> None:
    state = state_of(Applicability.UNSAFE)
    state.steps[:] = [replace(step, reasons=(reason,)) for step in state.steps]
    for key, failing in state.others.items():
        state.others[key] = replace(failing, message="tracing stops here for another reason: AssertionError: a")
    found = diagnostics(state, State(state.history), Comparison(8, 8, True, {}, ()))
    assert any(diagnostic.code == "DDE005" for diagnostic in found) is stands
