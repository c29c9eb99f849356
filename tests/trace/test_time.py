"""An entry's time is kept to, whoever is slow: nobody is waited for when it is over, and what is known is told."""

from __future__ import annotations

import socket
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
import torch
from tracing import entry_of, trace

from ddelint.nouns.diagnostics import TIME_IS_OVER
from ddelint.nouns.protocol import EntrySpec, SessionOptions
from ddelint.nouns.timings import Timings
from ddelint.trace import keeper, lanes, session, types
from ddelint.trace.explorer import Budget, trace_entry
from ddelint.trace.keeper import Keeper
from ddelint.trace.lanes import GRACE_SECONDS, Lanes
from ddelint.trace.limits import TooMuch
from ddelint.trace.session import Session

OPTIONS = SessionOptions(EntrySpec(__file__), (__file__,), timeout=60.0)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A clock that only waiting for an answer moves on; no answer ever comes."""
    now = [100.0]

    def wait(read: Sequence[Any], write: object, other: object, seconds: float | None) -> tuple[list[Any], ...]:
        assert seconds is not None, "waits for ever"
        now[0] += seconds
        return [], [], []

    for module in (lanes, session, keeper):
        monkeypatch.setattr(module, "monotonic", lambda: now[0])
    monkeypatch.setattr(lanes.select, "select", wait)
    return now


@pytest.mark.parametrize("clones", [0, 2])
def test_nobody_is_waited_for_when_the_time_is_over(clock: list[float], clones: int) -> None:
    pairs = [socket.socketpair() for _ in range(clones + 1)]
    (main, _), *others = pairs
    asked = Session(Lanes(main, [here for here, _ in others], 600.0), OPTIONS, Timings())
    asked.ends_at = 130.0
    found = asked.trace({})
    assert found.failure is not None
    assert (found.failure.kind, found.failure.message) == ("timeout", TIME_IS_OVER)
    assert clock[0] == 130.0 + GRACE_SECONDS
    for here, there in pairs:
        here.close()
        there.close()


def test_what_a_request_takes_in_several_processes_is_taken_once(clock: list[float]) -> None:
    here, there = socket.socketpair()
    keeps = Keeper(here)
    keeps._options = OPTIONS
    keeps._limit({"seconds": 20.0})
    assert keeps._left == 20.0
    clock[0] += 15.0
    assert keeps._left == 5.0
    clock[0] += 15.0
    assert 0 < keeps._left < 1
    keeps._limit({})
    assert keeps._left == OPTIONS.request_seconds
    here.close()
    there.close()


@pytest.fixture(scope="module")
def loaded() -> None:
    """What torch loads late is loaded, as in a worker: a limit must not end an import."""
    trace(asks, torch.ones(3), paths=(__file__,))
    types.record(entry_of(asks, torch.ones(3)), (__file__,), 0)


def asks(x: torch.Tensor) -> torch.Tensor:
    if x.sum() > 0:
        return x
    return x + 1


def forever(x: torch.Tensor) -> torch.Tensor:
    while True:
        x = x + 1


def asks_first(x: torch.Tensor) -> torch.Tensor:
    if x.sum() > 0:
        return x
    return forever(x)


def asks_then_asks(x: torch.Tensor) -> torch.Tensor:
    if x.sum() > 0:
        x = x + 1
    if x.min() > 0:
        x = x * 2
    else:
        x = forever(x)
    if x.max() > 2:
        return x
    return x + 1


@pytest.mark.usefixtures("loaded")
@pytest.mark.parametrize("program", [asks_first, asks_then_asks])
def test_what_was_asked_before_a_run_takes_too_long_is_told(program: Any) -> None:
    found = trace(program, torch.ones(3), paths=(__file__,), budget=Budget(most_seconds=0.5))
    assert found.failure is None
    assert [question.expression for question in found.questions][:1] == ["x.sum() > 0"]
    assert found.open_pairs


@pytest.mark.usefixtures("loaded")
def test_a_run_that_asks_nothing_and_takes_too_long_says_where_it_was() -> None:
    with pytest.raises(TooMuch):
        trace(forever, torch.ones(3), paths=(__file__,), budget=Budget(most_seconds=0.2))
    options = SessionOptions(EntrySpec(__file__), (__file__,), timeout=0.3)
    found = trace_entry(entry_of(forever, torch.ones(3)), (__file__,), options)
    assert found.failure is not None
    assert found.failure.kind == "timeout"
    assert found.failure.span is not None
    first = forever.__code__.co_firstlineno
    assert first < found.failure.span.row <= first + 2


@pytest.mark.usefixtures("loaded")
def test_types_are_those_that_were_seen_in_time() -> None:
    found = types.record(entry_of(asks_first, -torch.ones(3)), (__file__,), 0, seconds=0.3)
    assert found.failure is None
    assert sys.gettrace() is None
    assert found.functions[f"{__file__}::asks_first"]["x"].kind == "tensor"
    assert any(row > forever.__code__.co_firstlineno for row in found.rows[__file__])


@pytest.mark.usefixtures("loaded")
def test_inputs_that_take_too_long_to_make_are_no_failure() -> None:
    entry = replace(entry_of(asks, torch.ones(3)), inputs=lambda seed: ((forever(torch.ones(3)),), {}))
    found = types.record(entry, (__file__,), 0, seconds=0.3)
    assert (found.failure, found.functions) == (None, {})
