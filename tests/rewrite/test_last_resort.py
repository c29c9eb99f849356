"""What the search does where every move was refused: an outlined region, a graph break, or DDE901."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from test_search import MERGE, NAME, SHORTCUT, TEXT, Prover, by_row, moves, replacing, search

from ddelint.nouns.diagnostics import Applicability, Claim, Diagnostic, Edit, Question, Refusal, Span
from ddelint.nouns.protocol import Comparison, Compilation, Overlay, TargetResult, TraceResult
from ddelint.rewrite.candidate import MOVES, Candidate, Context, NotOffered
from ddelint.rewrite.search import last_resort
from ddelint.rewrite.search.asking import Asking
from ddelint.rewrite.search.history import History
from ddelint.rewrite.search.rounds import Outcome, Search
from ddelint.rewrite.search.steps import Key, State
from ddelint.sources.source import SourceFile
from ddelint.trace.diagnose import diagnose

__all__ = ["moves"]  # the fixture


def outlining(text: str) -> object:
    """A last resort that puts `text` in the place of the test."""

    def propose(context: Context) -> Iterator[Candidate]:
        span = context.site.span
        edit = Edit(span, text.format(test=context.site.source.segment(span)))
        yield Candidate(last_resort.OUTLINE, Claim.RESTRUCTURED, "outlined", (edit,), last_resort=True)

    return propose


def none_offered(context: Context) -> Iterator[Candidate]:
    """Nothing, and why."""
    raise NotOffered("it returns a dict")
    yield


@pytest.mark.slow
def test_a_region_is_outlined_only_where_all_else_fails_and_is_never_safe(moves: pytest.MonkeyPatch) -> None:
    moves.setitem(MOVES, last_resort.OUTLINE, outlining("region({test})"))
    moves.setitem(MOVES, MERGE, replacing(MERGE, Claim.RESTRUCTURED, "merged({test})"))
    assert "region" not in search(Prover()).everything.current(NAME).text
    moves.setitem(MOVES, MERGE, replacing(MERGE, Claim.RESTRUCTURED, "WRONG({test})"))
    outcome = search(Prover())
    assert outcome.safe.overlay == {}
    assert "if region(n > 4):" in outcome.everything.current(NAME).text
    fix = by_row(outcome)[5].fix
    assert fix is not None
    assert fix.applicability is Applicability.UNSAFE
    assert {d.code for d in outcome.diagnostics} == {"DDE101"}


def test_what_nothing_fixes_is_told_with_every_refusal(moves: pytest.MonkeyPatch) -> None:
    moves.setitem(MOVES, last_resort.OUTLINE, none_offered)
    moves.setitem(MOVES, MERGE, replacing(MERGE, Claim.RESTRUCTURED, "WRONG({test})"))

    def silent(context: Context) -> Iterator[Candidate]:
        """The shortcut."""
        yield from ()

    moves.setitem(MOVES, SHORTCUT, silent)
    (found,) = [d for d in search(Prover()).diagnostics if d.span.row == 5]
    assert (found.code, found.stands_for) == ("DDE901", "DDE101")
    assert "no rewrite keeps this: `n > 4`" in found.message
    told = {refusal.move: refusal.reason for refusal in found.refused}
    assert told[last_resort.OUTLINE] == "it returns a dict"
    assert told[SHORTCUT] == "does not apply here"
    assert "value differs" in told[MERGE]


def test_where_unsafe_fixes_were_not_tried_or_time_was_over_the_rule_speaks_for_itself() -> None:
    span = Span(NAME, 5, 8, 5, 13)
    untried = Diagnostic("DDE101", "", span)
    assert last_resort.told(untried) is untried
    late = replace(untried, refused=(Refusal(last_resort.OUTLINE, "outlined", last_resort.TIME_IS_OVER),))
    assert last_resort.told(late) is late


@pytest.mark.parametrize("wanted", [True, False])
def test_where_no_time_is_left_for_regions_that_is_said(moves: pytest.MonkeyPatch, wanted: bool) -> None:
    compared: list[object] = []

    class Slow(Prover):
        """Once what was tried has been compared, time for trying is over."""

        def compare(self, *asked: Any, **options: Any) -> Comparison:
            compared.append(asked)
            return super().compare(*asked, **options)

    moves.setitem(MOVES, last_resort.OUTLINE, outlining("region({test})"))
    moves.setitem(MOVES, MERGE, replacing(MERGE, Claim.RESTRUCTURED, "WRONG({test})"))
    outcome = search(
        Slow(),
        seconds_left=lambda: 0.0 if len(compared) > wanted else 10.0,
        wanted=lambda found: wanted or found.span.row != 5,
    )
    found = by_row(outcome)[5]
    assert last_resort.ran_out_of_time(found) is wanted
    assert found.code == "DDE101"
    assert outcome.everything.overlay == {}


@pytest.mark.parametrize(
    ("code", "is_control_flow"),
    [("DDE101", True), ("DDE203", True), ("DDE108", False), ("DDE208", False), ("DDE304", False)],
)
def test_only_control_flow_is_told_as_such(code: str, is_control_flow: bool) -> None:
    refused = (Refusal(last_resort.OUTLINE, "outlined", "it returns a dict"),)
    found = last_resort.told(Diagnostic(code, "", Span(NAME, 5, 8, 5, 13), refused=refused))
    assert found.code == ("DDE901" if is_control_flow else code)
    assert found.codes == (("DDE901", code) if is_control_flow else (code,))


def test_sizes_of_inputs_and_settings_are_no_reason_to_leave_the_program() -> None:
    span = Span(NAME, 5, 8, 5, 13)
    asked = Question(span, "truth", "n > 4", "u0 > 4")
    assert last_resort.wanted(asked, Diagnostic("DDE101", "", span))
    assert not last_resort.wanted(asked, Diagnostic("DDE401", "", span))
    assert not last_resort.wanted(Question(span, "guarded", "n", ""), Diagnostic("DDE005", "", span))


def test_what_is_not_data_dependent_may_leave_the_program_too() -> None:
    span = Span(NAME, 5, 8, 5, 13)
    failing, noted = Diagnostic("DDE005", "", span), Diagnostic("DDE703", "", span)
    assert last_resort.wanted(Question(span, "other", "a.numpy()", ""), failing)
    assert list(last_resort.unsupported({"failing": failing, "noted": noted})) == ["failing"]


def test_why_no_region_helps_is_said_of_what_is_not_data_dependent_too() -> None:
    span = Span(NAME, 5, 1, 5, 4)
    key = Key(NAME, 5, 4, "x.numpy()", "other")
    home = Diagnostic("DDE005", "numpy on the way", span)
    why = Refusal(last_resort.OUTLINE, "region", "it returns a dict")
    history = History({NAME: SourceFile(NAME, TEXT)})
    state, outlined = (State(history, others={key: d}) for d in (home, replace(home, refused=(why,))))
    assert last_resort.with_refused_regions(state, outlined).others[key].refused == (why,)


class Breaking(Prover):
    """A program whose first question stays until its region has left the graph; only compile is asked then."""

    def compile(self, overlay: Overlay, targets: tuple[str, ...], samples: int, backend: str) -> Compilation:
        return Compilation(tuple(TargetResult(target, "cpu", True) for target in targets))


def test_the_graph_is_broken_where_that_is_allowed(moves: pytest.MonkeyPatch) -> None:
    def breaking(context: Context) -> Iterator[Candidate]:
        span = context.site.span
        test = context.site.source.segment(span)
        edit = Edit(span, f"{test} and outside")
        yield Candidate(last_resort.GRAPH_BREAK, Claim.RESTRUCTURED, "it leaves the graph", (edit,), last_resort=True)

    moves.setitem(MOVES, last_resort.OUTLINE, none_offered)
    moves.setitem(MOVES, last_resort.GRAPH_BREAK, breaking)

    def outcome(allowed: bool) -> Outcome:
        sources, targets = {NAME: SourceFile(NAME, TEXT)}, ("compile",)
        asking = Asking(Breaking(), sources, targets, samples=8, diagnose=diagnose, types={})
        return Search(asking, graph_breaks=allowed).run()

    assert outcome(False).everything.overlay == {}
    broken = outcome(True)
    assert broken.safe.overlay == {}
    assert "if n > 4 and outside:" in broken.everything.current(NAME).text
    assert [d.code for d in broken.diagnostics] == ["DDE101", "DDE101"]
    evidence = broken.diagnostics[0].evidence
    assert evidence is not None
    assert evidence.compile is None
    assert "torch.compile agrees with eager, with graph breaks" in evidence.notes


@pytest.mark.slow
def test_where_a_region_leads_nowhere_it_is_not_written_and_what_was_fixed_behind_it_is(
    moves: pytest.MonkeyPatch,
) -> None:
    class Stopped(Prover):
        """The second question shows once the first is a region; behind both is what no front end takes."""

        def trace(self, overlay: Overlay, *, first: bool = False, **_: object) -> TraceResult:
            traced = super().trace(overlay, first=first)
            hidden = 0 if "region(" in overlay.get(NAME, TEXT) else 1
            return replace(traced, questions=traced.questions[: len(traced.questions) - hidden])

        def compile(self, overlay: Overlay, targets: tuple[str, ...], samples: int, backend: str) -> Compilation:
            return Compilation(tuple(TargetResult(target, "cpu", False, error="unsupported") for target in targets))

    def merge(context: Context) -> Iterator[Candidate]:
        test = context.site.source.segment(context.site.span)
        word = "merged" if test.startswith("m") else "WRONG"
        yield from replacing(MERGE, Claim.RESTRUCTURED, word + "({test})")(context)  # type: ignore[operator]

    moves.setitem(MOVES, last_resort.OUTLINE, outlining("region({test})"))
    moves.setitem(MOVES, MERGE, merge)
    outcome = search(Stopped())
    assert outcome.everything.current(NAME).text == TEXT.replace("m > 5", "merged(m > 5)")
    reasons = {refusal.move: refusal.reason for refusal in by_row(outcome)[5].refused}
    assert reasons[last_resort.OUTLINE] == last_resort.GAINS_NOTHING
    assert "value differs" in reasons[MERGE]


def test_a_region_comes_last_for_the_program_not_for_the_question(moves: pytest.MonkeyPatch) -> None:
    class Hidden(Prover):
        """The first question is not asked any more once the second has its answer."""

        def trace(self, overlay: Overlay, *, first: bool = False, **_: object) -> TraceResult:
            traced = super().trace(overlay, first=first)
            return TraceResult((), runs=1) if "merged(m" in overlay.get(NAME, TEXT) else traced

    def merge(context: Context) -> Iterator[Candidate]:
        span = context.site.span
        test = context.site.source.segment(span)
        word = "merged" if test.startswith("m") else "WRONG"
        yield Candidate(MERGE, Claim.RESTRUCTURED, "merge", (Edit(span, f"{word}({test})"),), spreads=True)

    moves.setitem(MOVES, last_resort.OUTLINE, outlining("region({test})"))
    moves.setitem(MOVES, MERGE, merge)
    text = search(Hidden()).everything.current(NAME).text
    assert "merged(m > 5)" in text
    assert "region" not in text


def test_regions_have_their_share_of_the_time(moves: pytest.MonkeyPatch) -> None:
    clock = [1000.0]

    class Slow(Prover):
        """Each comparison takes a tenth of all the time that there is."""

        def compare(self, overlay: Overlay, *asked: Any, **options: Any) -> Comparison:
            clock[0] -= 100.0 if "WRONG" in overlay.get(NAME, TEXT) else 0.0
            return super().compare(overlay, *asked, **options)

    def attempts(context: Context) -> Iterator[Candidate]:
        for number in range(40):
            yield from replacing(MERGE, Claim.RESTRUCTURED, f"WRONG{number}({{test}})")(context)  # type: ignore[operator]

    moves.setitem(MOVES, MERGE, attempts)
    moves.setitem(MOVES, last_resort.OUTLINE, outlining("region({test})"))
    outcome = search(Slow(), seconds_left=lambda: clock[0])
    assert "if region(n > 4):" in outcome.everything.current(NAME).text
    assert "if region(m > 5):" in outcome.everything.current(NAME).text
