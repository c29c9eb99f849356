"""Which safe fix is doubted for what is compiled of a program."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from ddelint.nouns.diagnostics import Applicability, Claim, Diagnostic, Edit, Span
from ddelint.nouns.protocol import A_RESULT, UNFINISHED, Comparison, Compilation, Mismatch, TargetResult
from ddelint.rewrite.candidate import Candidate
from ddelint.rewrite.search.comparisons import Wanted
from ddelint.rewrite.search.history import History
from ddelint.rewrite.search.judging import Judging, fails_whatever_is_given
from ddelint.rewrite.search.steps import Key, State, Step, without
from ddelint.sources.source import SourceFile

SPAN = Span("m.py", 1, 1, 1, 2)
LATER = Mismatch("call 4 in a row, seed 3", False, "export", "value", "3", "2", narrower=True)
FAILED = "InductorError: RuntimeError"


def state_of(move: str, compilation: Compilation) -> State:
    candidate = Candidate(move, Claim.GENERAL_PATH, move, (Edit(SPAN, "y"),))
    diagnostic = Diagnostic("DDE105", "asks", SPAN)
    step = Step(1, Key("m.py", 1, 1, "x", "truth"), diagnostic, candidate, (), Applicability.SAFE, (), None)
    history = History({"m.py": SourceFile("m.py", "x\n")})
    return State(history, [step], compilation=compilation)


def reason_of(move: str, result: TargetResult) -> str:
    judging: Any = Judging(None)  # type: ignore[arg-type]
    state = state_of(move, Compilation((result,)))
    doubted = judging.doubtful_in_compiled(state, state)
    return doubted[1] if doubted is not None else ""


@pytest.mark.parametrize("move", ["torch_cond", "while_loop"])
def test_control_flow_is_doubted_where_compiling_fails(move: str) -> None:
    failed = TargetResult("compile", "cpu", ok=False, error=FAILED)
    assert reason_of(move, failed) == f"compile fails with it: {FAILED}"


def test_control_flow_is_doubted_where_it_needs_a_setting() -> None:
    needs = TargetResult("compile", "cpu", ok=True, as_installed="UncapturedHigherOrderOpError: x")
    assert reason_of("torch_cond", needs).endswith(
        "where it may break the graph, it fails: UncapturedHigherOrderOpError: x"
    )
    assert reason_of("where_merge", needs) == ""


def test_control_flow_is_doubted_where_another_number_fails() -> None:
    fails = TargetResult("compile", "cpu", ok=True, otherwise="eps=1.0: AssertionError: x")
    assert reason_of("torch_cond", fails).endswith("mode or setting: eps=1.0: AssertionError: x")


def test_control_flow_is_doubted_for_what_an_unsafe_fix_hides() -> None:
    failing = Diagnostic("DDE005", "tracing stops here for another reason: AssertionError: b", SPAN, asks=("export",))
    judging: Any = Judging(None)  # type: ignore[arg-type]
    passed = Compilation((TargetResult("export", "cpu", ok=True),))
    for move, reason in (("torch_cond", "export fails with it: AssertionError: b"), ("where_merge", "")):
        everything = state_of(move, passed)
        safe = replace(everything, others={Key("m.py", 1, 1, "x", "other"): failing})
        doubted = judging.doubtful_in_compiled(safe, everything)
        assert (doubted[1] if doubted is not None else "") == reason


def test_nothing_is_doubted_for_what_has_other_reasons() -> None:
    assert reason_of("where_merge", TargetResult("compile", "cpu", ok=False, error=FAILED)) == ""
    assert reason_of("torch_cond", TargetResult("compile", "cpu", ok=False, error=f"{UNFINISHED} within 9 s")) == ""
    assert reason_of("torch_cond", TargetResult("compile", "cpu", ok=True)) == ""


@pytest.mark.parametrize("declared", [True, False])
def test_whoever_is_refused_by_compiled_code_makes_a_fix_doubtful(declared: bool) -> None:
    error = "NameError: name 'Min' is not defined"
    refused = Mismatch("seed 0", declared, "compile", "exception", A_RESULT, error, narrower=not declared)
    result = TargetResult("compile", "cpu", ok=False, mismatches=(refused,), compared=59, agreed=0)
    assert reason_of("symbolic_minmax", result) == (
        "compile refuses inputs that eager takes (59 of 59): compile, seed 0: exception differs "
        f"(expected a result, got {error})"
    )
    exported = TargetResult("export", "cpu", ok=True, compared=59, agreed=59)
    for other, alone in ((exported, True), (replace(exported, ok=False), False)):
        assert fails_whatever_is_given(Compilation((result, other))) is alone
    assert not fails_whatever_is_given(Compilation((replace(result, agreed=3), exported)))
    taken = replace(refused, expected=error, got=A_RESULT, narrower=False)
    assert reason_of("symbolic_minmax", replace(result, mismatches=(taken,))) == ""


def test_a_fix_with_which_the_backward_pass_fails_is_doubted_and_no_other_for_the_same() -> None:
    failing = Mismatch("seed 0", True, "backward", "backward", "gradients", "NameError: zuf0")
    everything = state_of("where_merge", Compilation((), mismatches=(failing,)))
    judging: Any = Judging(None)  # type: ignore[arg-type]
    step, reason = judging.doubtful_in_compiled(everything, everything)
    assert reason == "the backward pass fails where it is compiled: NameError: zuf0"
    known = replace(everything, steps=[replace(step, reasons=(reason,))])
    assert judging.doubtful_in_compiled(everything, known) is None
    wrong = replace(everything, compilation=Compilation((), mismatches=(replace(failing, aspect="gradient"),)))
    assert judging.doubtful_in_compiled(wrong, wrong) is None


@pytest.mark.parametrize(("declared", "is_guilty"), [(True, True), (False, False)])
def test_what_claims_to_be_the_same_is_guilty_of_another_result_where_nothing_else_was_done(
    declared: bool, is_guilty: bool
) -> None:
    differs = Mismatch("seed 0", declared, "export", "value", "20.0", "10.0")
    compilation = Compilation((TargetResult("export", "cpu", ok=False, mismatches=(differs,)),))
    state = state_of("item_instead_of_cast", compilation)
    step = replace(state.steps[0], candidate=replace(state.steps[0].candidate, claim=Claim.EQUIVALENT))
    judging: Any = Judging(None)  # type: ignore[arg-type]
    guilty = judging.guilty_in_compiled(replace(state, steps=[step]), compilation)
    assert (guilty is not None) is is_guilty


def test_what_is_traced_is_doubted_for_later_calls() -> None:
    found = reason_of("where_merge", TargetResult("export", "cpu", ok=False, mismatches=(LATER,)))
    assert found.startswith("what is traced sees the first call alone: export, call 4 in a row, seed 3: value differs")


class Comparing:
    """Asking, of which a judge wants comparisons alone: what differs follows from the lines of the text."""

    samples = 64

    def __init__(self, differences: Mapping[str, Mismatch]) -> None:
        self.asked: list[tuple[str, frozenset[str]]] = []
        self._differences = differences

    @property
    def comparisons(self) -> Comparing:
        return self

    def expect(self, wanted: Wanted) -> None:
        pass

    def of(self, wanted: Wanted) -> Comparison:
        text = wanted.history.current("m.py").text
        self.asked.append((text, wanted.only))
        found = tuple(self._differences[line] for line in text.split() if line in self._differences)
        return Comparison(2, 2 - len(found), not found, mismatches=found)


def stepped(text: str, lines: str) -> State:
    """A program of one letter a line, each line replaced by a step of its own."""
    history, steps = History({"m.py": SourceFile("m.py", text)}), []
    for number, new in enumerate(lines, 1):
        span = Span("m.py", number, 1, number, 2)
        candidate = Candidate("where_merge", Claim.RESTRUCTURED, new, (Edit(span, new),))
        history = history.add(candidate.edits, number)
        key = Key("m.py", number, 1, new, "truth")
        steps.append(Step(number, key, Diagnostic("DDE105", span, ""), candidate, (), Applicability.SAFE, (), None))
    return State(history, steps)


def test_who_is_responsible_is_looked_for_on_the_input_that_shows_it() -> None:
    asking = Comparing({"z": Mismatch("seed 3, in eval()", True, "eager", "value", "1", "2", base="seed 3")})
    judging, state = Judging(asking), stepped("x\ny\n", "az")  # type: ignore[arg-type]
    guilty = judging.guilty(state, judging.compare_whole(state))

    assert guilty is not None
    assert guilty[0].candidate.message == "z"
    assert asking.asked == [
        ("a\nz\n", frozenset()),
        ("a\nz\n", frozenset(("seed 3",))),
        ("a\ny\n", frozenset(("seed 3",))),
    ]


def test_of_two_wrong_steps_each_is_responsible_for_its_own_difference() -> None:
    differences = {
        new: Mismatch("x all nan", False, "traced path", "value", "0.0 at [0]", got, base="seed 0")
        for new, got in (("b", "nan at [0]"), ("c", "1.0 at [0]"))
    }

    judging, state = Judging(Comparing(differences)), stepped("w\nx\ny\nz\n", "abcd")  # type: ignore[arg-type]
    blamed = []
    while (guilty := judging.guilty(state, judging.compare_whole(state))) is not None:
        blamed.append((guilty[0].candidate.message, guilty[1]))
        state = without(state, [guilty[0]])

    assert [message for message, _ in blamed] == ["b", "c"]
    assert "got nan at [0]" in blamed[0][1]
    assert "got 1.0 at [0]" in blamed[1][1]


@pytest.mark.parametrize(
    ("takes_long", "late", "compared"), [(False, False, 0), (True, False, 1), (False, True, 1), (True, True, 1)]
)
def test_late_a_program_is_compared_before_it_is_compiled(takes_long: bool, late: bool, compared: int) -> None:
    seen: list[Wanted] = []
    wrong = Mismatch("seed 6", True, "traced path", "value", "1", "0")

    class Asked:
        samples = 64

        @property
        def comparisons(self) -> Any:
            return self

        def takes_long(self, _: History) -> bool:
            return takes_long

        def of(self, wanted: Wanted) -> Comparison:
            seen.append(wanted)
            return Comparison(64, 32, False, mismatches=(wrong,))

    judging: Any = Judging(Asked())  # type: ignore[arg-type]
    assert judging.is_wrong(state_of("where_merge", Compilation(())), late=late) is bool(compared)
    assert len(seen) == compared
