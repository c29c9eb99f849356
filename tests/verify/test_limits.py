"""One call cannot take the whole request with it."""

from __future__ import annotations

import os
import signal
import sys
import textwrap
from collections.abc import Callable
from textwrap import dedent
from time import process_time
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from ddelint.nouns.protocol import SessionOptions
from ddelint.trace import landing, limits
from ddelint.trace.entry import Entry
from ddelint.trace.limits import TooMuch, is_too_much, limited
from ddelint.verify import stopwatch
from ddelint.verify.eager import compare
from ddelint.verify.references import OF_REWRITTEN, patience_of
from ddelint.verify.running import Overruns, Patience, run_sample
from ddelint.verify.samples import Sample


def test_an_endless_loop_is_ended_even_where_the_user_catches_everything() -> None:
    def stubborn() -> None:
        while True:
            try:
                while True:
                    pass
            except Exception:
                continue

    with pytest.raises(TooMuch), limited(0.05, None):
        stubborn()


def of_torch(source: str, **names: Any) -> Callable[[], None]:
    """A function `called`, of a file that is said to be torch's."""
    exec(compile(source, os.path.join(os.path.dirname(torch.__file__), "anything.py"), "exec"), names)
    return names["called"]


def test_a_call_of_torch_comes_to_its_end_first() -> None:
    ran: list[str] = []
    source = """
    def called():
        signal.raise_signal(signal.SIGALRM)
        ran.append("torch's line")
    """
    called = of_torch(dedent(source), signal=signal, ran=ran)

    def program() -> None:
        called()
        ran.append("the user's next line")

    with pytest.raises(TooMuch) as caught, limited(600.0, None):
        program()
    assert ran == ["torch's line"]
    assert caught.traceback[-2].name == "program"
    assert sys.gettrace() is None


def test_a_call_of_torch_that_does_not_come_to_its_end_is_ended() -> None:
    ran: list[str] = []
    source = """
    def called():
        signal.raise_signal(signal.SIGALRM)
        ran.append("once")
        signal.raise_signal(signal.SIGALRM)
        ran.append("twice")
    """
    called = of_torch(dedent(source), signal=signal, ran=ran)

    def program() -> None:
        called()

    with pytest.raises(TooMuch), limited(600.0, None):
        program()
    assert ran == ["once"]
    with pytest.raises(TooMuch), limited(600.0, None):
        called()  # by nobody's code but ours
    assert ran == ["once"]
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_a_limit_within_another_leaves_that_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(limits, "perf_counter", lambda: now[0])

    def until_the_outer_one_is_over() -> None:
        with limited(1000.0, None):
            now[0] = 2000.0
        signal.pause()

    with limited(600.0, None):
        with limited(10.0, None):
            assert 9.0 < signal.getitimer(signal.ITIMER_REAL)[0] <= 10.0
            now[0] = 5.0
        assert 594.0 < signal.getitimer(signal.ITIMER_REAL)[0] <= 595.0
        with limited(1000.0, None):
            assert 594.0 < signal.getitimer(signal.ITIMER_REAL)[0] <= 595.0
        with pytest.raises(TooMuch):
            until_the_outer_one_is_over()
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_a_second_timer_waits_as_the_first_one_does() -> None:
    ran: list[str] = []
    source = """
    def called():
        signal.raise_signal(signal.SIGPROF)
        signal.raise_signal(signal.SIGALRM)
        ran.append("both")
        signal.raise_signal(signal.SIGALRM)
        ran.append("further")
    """
    called = of_torch(dedent(source), signal=signal, ran=ran)

    def program() -> None:
        called()

    with pytest.raises(TooMuch), limited(600.0, None, waiting=2.0):
        program()
    assert ran == ["both"]


def test_what_lands_later_in_one_limit_leaves_the_other_clock_of_an_outer_one() -> None:
    called = of_torch("def called():\n    signal.raise_signal(signal.SIGALRM)\n", signal=signal)

    def program() -> None:
        called()

    with limited(600.0, None, waiting=2.0):
        with pytest.raises(TooMuch), limited(60.0, None):
            program()
        assert signal.getitimer(signal.ITIMER_PROF)[0] > 500.0
        assert signal.getitimer(signal.ITIMER_REAL)[0] > 1000.0


def test_what_is_the_users_code() -> None:
    assert not landing.is_users(torch.nn.functional.__file__)
    assert not landing.is_users(textwrap.__file__)
    assert not landing.is_users(limits.__file__)
    assert not landing.is_users("<frozen importlib._bootstrap>")
    assert landing.is_users(pytest.__file__)
    assert landing.is_users(__file__)
    assert landing.is_users("<string>")


def test_where_others_may_compute_beside_it_only_what_it_computes_counts() -> None:
    def working() -> None:
        until = process_time() + 0.2
        while process_time() < until:
            pass

    with limited(60.0, None, waiting=2.0):
        working()
    with pytest.raises(TooMuch), limited(0.05, None, waiting=1000.0):
        working()
    assert signal.getitimer(signal.ITIMER_PROF) == signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_what_passes_while_a_process_waits_counts_half(monkeypatch: pytest.MonkeyPatch) -> None:
    times = {"computed": 0.0, "passed": 0.0}
    monkeypatch.setattr(stopwatch, "process_time", lambda: times["computed"])
    monkeypatch.setattr(stopwatch, "perf_counter", lambda: times["passed"])
    watch = stopwatch.Stopwatch()
    for computed, passed, expected in ((1.0, 1.5, 1.0), (1.0, 6.0, 3.0), (4.0, 6.0, 4.0)):
        times |= {"computed": computed, "passed": passed}
        assert watch.seconds() == expected


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux enforces the limit")
def test_a_huge_tensor_is_refused_and_small_ones_are_possible_again_afterwards() -> None:
    with pytest.raises(RuntimeError) as caught, limited(None, 1 << 24):
        torch.empty(1 << 32)

    assert is_too_much("RuntimeError", str(caught.value))
    assert torch.empty(1 << 22).numel() == 1 << 22


def test_other_errors_are_not_taken_for_a_lack_of_memory() -> None:
    assert not is_too_much("RuntimeError", "shape mismatch")
    assert not is_too_much("ValueError", "can't allocate memory")
    assert is_too_much("MemoryError", "")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux enforces the limit")
def test_an_input_of_our_own_making_that_takes_too_much_is_left_out(
    program: Callable[..., Entry], options: SessionOptions
) -> None:
    entry = program(
        """
        def fn(x):
            return torch.ones(int(x.max()) ** 3).sum()


        def make_inputs(seed):
            return (torch.rand(3) * 2,)
        """
    )

    found = compare(entry, lambda: entry, (), options, 16, False)

    assert found.failure is None
    assert found.equal
    assert found.declared == 8
    assert found.samples < 16


def test_what_never_ends_leaves_less_for_what_comes_after_it() -> None:
    overruns, patience = Overruns(), Patience(seconds=2.0, memory=1 << 30)
    left = []
    for overruns.count in (0, 1, 3, 50):
        left.append(overruns.left_of(patience))
    assert left == [2.0, 1.0, 0.5, 0.4]


@pytest.mark.parametrize("counted", [True, False])
def test_an_input_that_never_ends_is_counted_for_the_original_alone(counted: bool) -> None:
    def endless(x: torch.Tensor) -> torch.Tensor:
        while x.sum() < 1:
            x = x * 1
        return x

    overruns = Overruns()
    sample = Sample("zeros", False, lambda: ((torch.zeros(2),), {}))
    patience = Patience(seconds=0.05, memory=1 << 32)
    entry = Entry("fn", "", lambda: endless, lambda seed: sample.make(), seeded=False, parameters=("x",))
    known = overruns if counted else None
    assert run_sample(entry, sample, twice=False, patience=patience, overruns=known) is None
    assert overruns.count == int(counted)


def took(declared: bool, seconds: float) -> Any:
    """A reference whose calls took so long, as far as patience looks at it."""
    return SimpleNamespace(sample=SimpleNamespace(declared=declared), calls=[SimpleNamespace(seconds=seconds)])


def test_a_slow_call_on_an_input_of_ours_allows_the_next_no_more() -> None:
    """A loop over a number that we made large would take twenty times as long each time, up to the end of the time."""
    options = SessionOptions("model.py:fn", ("model.py",))
    known = [took(True, 0.1), took(True, 0.2)]
    allowed = patience_of(known, options).seconds
    assert patience_of([*known, took(False, 3.0), took(False, 60.0)], options).seconds == allowed
    assert patience_of([*known, took(True, 1.0)], options).seconds > allowed


def test_a_rewritten_program_may_take_longer_where_the_original_did() -> None:
    options, known = SessionOptions("model.py:fn", ("model.py",)), [took(True, 0.1), took(False, 5.0)]
    allowed = patience_of(known, options, OF_REWRITTEN, known[0]).seconds
    assert patience_of(known, options, OF_REWRITTEN, known[1]).seconds > allowed
