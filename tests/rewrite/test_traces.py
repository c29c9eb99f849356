"""Of a candidate that asks, the trace that says so is enough; it is never taken for a whole one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ddelint.nouns.diagnostics import Question
from ddelint.nouns.protocol import Overlay, TraceResult
from ddelint.nouns.spans import Edit, Span
from ddelint.rewrite.search.history import History
from ddelint.rewrite.search.traces import Traces
from ddelint.sources.source import SourceFile

NAME = "/model.py"
FIRST, SECOND = Span(NAME, 2, 8, 2, 13), Span(NAME, 4, 8, 4, 13)


class Prover:
    """Asks in both places, and stops where that is enough."""

    def __init__(self) -> None:
        self.until: list[tuple[Span, ...]] = []

    def trace(
        self, overlay: Overlay, *, first: bool = False, forward_first: bool = False, until: Sequence[Span] = ()
    ) -> TraceResult:
        self.until.append(tuple(until))
        asked = [Question(span, "truth", "n > 4", "u0 > 4") for span in (FIRST, SECOND)]
        places = [i for i, one in enumerate(asked, 1) if any(place.contains(one.span) for place in until)]
        number = 1 if first else min(places, default=2)
        return TraceResult(tuple(asked[:number]), runs=1, cut=bool(places) and not first)


def rewritten(span: Span) -> History:
    text = "def fn(n, x):\n    if n > 4:\n        x = x + 1\n    if n > 4:\n        x = x + 2\n    return x\n"
    return History({NAME: SourceFile(NAME, text)}).add([Edit(span, "m > 4")], 1)


def made(prover: Any) -> Traces:
    return Traces(prover, None)


def test_what_ends_early_is_no_whole_trace() -> None:
    prover, history = Prover(), rewritten(FIRST)
    traces = made(prover)
    assert traces.until_it_asks(history, 1).cut
    assert traces.until_it_asks(history, 1).cut
    assert len(prover.until) == 1
    assert traces.known(history) is None
    assert [question.span for question in traces.of(history).questions] == [FIRST, SECOND]
    assert not traces.until_it_asks(history, 1).cut  # by now all is known
    assert len(prover.until) == 2


def test_where_the_place_does_not_ask_the_trace_is_a_whole_one() -> None:
    prover, history = Prover(), rewritten(Span(NAME, 3, 8, 3, 17))
    traces = made(prover)
    assert not traces.until_it_asks(history, 1).cut
    assert traces.known(history) is traces.of(history)
    assert len(prover.until) == 1


def test_where_gradients_are_left_for_later_the_trace_is_made_again_for_them() -> None:
    prover, history = Prover(), rewritten(FIRST)
    traces = made(prover)
    traces.forward_first = True
    traces.of(history)
    traces.of(history)
    assert len(prover.until) == 1
    traces.forward_first = False
    traces.of(history)
    assert len(prover.until) == 2
