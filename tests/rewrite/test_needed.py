"""Which fixes nothing needs any more, and that the text that was verified is the one that is kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import cast

import pytest

from ddelint.nouns.diagnostics import Applicability, Claim, Diagnostic, Edit, Question, Span
from ddelint.nouns.protocol import Compilation, TargetResult
from ddelint.rewrite.candidate import Candidate
from ddelint.rewrite.search.asking import Asking
from ddelint.rewrite.search.history import History
from ddelint.rewrite.search.judging import Judging
from ddelint.rewrite.search.needed import Needed
from ddelint.rewrite.search.steps import Key, State, Step
from ddelint.sources.source import SourceFile

NAME, TEXT = "/model.py", "first = 1\nsecond = 2\n"


class Traces:
    """Asks where the second fix is missing, and counts how often it is traced; whatever is compiled goes through."""

    targets = "export", "compile"

    def __init__(self) -> None:
        self.traced = 0
        self.compiled: list[str] = []
        self.results: tuple[TargetResult, ...] = ()
        self.rest: tuple[TargetResult, ...] = ()
        self.stopped = False
        self.refuses = False
        self.known: set[Key] = set()

    def is_known_to_stop(self, _: History, key: Key) -> bool:
        return key in self.known

    def stops(self, _: History) -> bool:
        return self.stopped

    def asks_anything(self, history: History) -> bool:
        self.traced += 1
        return "second = 20" not in history.current(NAME).text

    def expect_without_each(self, *_: object) -> None: ...

    def forget(self) -> None: ...

    def verified(self, _: State, until: Callable[[Compilation], bool]) -> Compilation:
        return Compilation(results=self.results)

    def compile(self, history: History, targets: tuple[str, ...] = targets) -> Compilation:
        self.compiled.append(history.current(NAME).text)
        if targets != self.targets:
            return Compilation(results=self.rest)
        return Compilation(results=self.results if self.refuses else ())

    def is_wrong(self, _: State, *, late: bool = False) -> bool:
        return False


def with_both() -> State:
    history, steps = History({NAME: SourceFile(NAME, TEXT)}), []
    for number, column in ((1, 9), (2, 10)):
        span = Span(NAME, number, column, number, column + 1)
        edit = Edit(span, f"{number}0")
        history = history.add([edit], number)
        candidate = Candidate("move", Claim.RESTRUCTURED, "", (edit,))
        diagnostic = Diagnostic("DDE102", "", span, asks=("export",))
        key = Key(NAME, number, column, "", "truth")
        steps.append(Step(number, key, diagnostic, candidate, (), Applicability.SAFE, (), None))
    return State(history, steps)


@pytest.fixture
def clock() -> list[float]:
    """The seconds that are left."""
    return [60.0]


@pytest.fixture
def traces() -> Traces:
    return Traces()


@pytest.fixture
def needed(traces: Traces, clock: list[float]) -> Needed:
    return Needed(cast(Asking, traces), cast(Judging, traces), lambda: clock[0], lambda _: None)


def test_a_fix_that_no_trace_misses_goes(needed: Needed) -> None:
    left = needed.of(with_both())
    assert left.history.current(NAME).text == "first = 1\nsecond = 20\n"


def test_what_is_known_stays_known_when_time_is_over(needed: Needed, traces: Traces, clock: list[float]) -> None:
    verified = needed.of(with_both())
    asked, clock[0] = traces.traced, 0.0
    assert needed.of(with_both()).history.current(NAME).text == verified.history.current(NAME).text
    assert traces.traced == asked


def test_nothing_is_asked_once_time_is_over(needed: Needed, traces: Traces, clock: list[float]) -> None:
    clock[0] = 0.0
    assert [step.number for step in needed.of(with_both()).steps] == [1, 2]
    assert not traces.traced


def test_a_trace_that_stops_before_the_end_says_of_no_fix_that_it_is_not_needed(needed: Needed, traces: Traces) -> None:
    traces.stopped = True
    assert [step.number for step in needed.of(with_both()).steps] == [1, 2]
    assert not traces.traced


@pytest.mark.parametrize(("row", "alone"), [(2, False), (1, True)])
def test_what_a_front_end_asks_elsewhere_needs_no_fix_that_has_gone(
    needed: Needed, traces: Traces, row: int, alone: bool
) -> None:
    question = Question(Span(NAME, row, 1, row, 2), "truth", "second", "")
    traces.results = (TargetResult("export", "cpu", True), TargetResult("compile", "cpu", False, (question,)))
    assert [step.number for step in needed.of(with_both()).steps] == [2]
    assert bool(traces.compiled) is alone


@pytest.mark.parametrize(("row", "alone"), [(2, False), (1, True)])
def test_where_an_exporter_asks_elsewhere_what_it_was_not_verified_by_is_asked_as_well(
    needed: Needed, traces: Traces, row: int, alone: bool
) -> None:
    elsewhere, question = (Question(Span(NAME, n, 1, n, 2), "truth", "second", "") for n in (2, row))
    traces.results = (TargetResult("export", "cpu", False, (elsewhere,)),)
    traces.rest = (TargetResult("compile", "cpu", False, (question,)),)
    assert [step.number for step in needed.of(with_both()).steps] == [2]
    assert len(traces.compiled) == (3 if alone else 1)


def test_where_no_front_end_takes_the_whole_program_it_is_not_compiled_without_each(
    needed: Needed, traces: Traces
) -> None:
    traces.results, traces.refuses = (TargetResult("compile", "cpu", False, error="an assertion of its own"),), True
    state = with_both()
    assert [step.number for step in needed.of(state).steps] == [1, 2]
    assert traces.compiled == [state.history.current(NAME).text]


@pytest.mark.parametrize("is_known", [True, False])
def test_what_stops_a_front_end_and_is_no_question_is_asked_of_front_ends(
    needed: Needed, traces: Traces, is_known: bool
) -> None:
    """No trace shows it; what a verification is known to have stopped at is not asked again."""
    state = with_both()
    state.steps[0] = replace(state.steps[0], key=replace(state.steps[0].key, kind="other"))
    stopped = TargetResult("export", "cpu", False, error="cannot swap")
    traces.results, traces.refuses = (stopped,), True
    traces.known = {state.steps[0].key} if is_known else set()
    assert [step.number for step in needed.of(state).steps] == [1, 2]
    assert traces.compiled == ([] if is_known else ["first = 1\nsecond = 20\n"])
