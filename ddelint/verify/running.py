"""An entry on one input set: a fresh instance, called as often as its state asks for, within a limit."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from ddelint.trace.entry import Entry
from ddelint.trace.limits import TooMuch, is_too_much, limited
from ddelint.verify.calls import Outcome, Raised, raised, run
from ddelint.verify.frozen import Constant
from ddelint.verify.samples import Sample

_LEAST_PATIENCE = 0.2
"""Share of its seconds that patience keeps."""
_ON_THE_CLOCK = 4.0
"""Seconds on the clock for each of computing: others may use the machine, too."""


@dataclass(frozen=True)
class Patience:
    """What a call on an input of our own making may take. Declared inputs may take what they take."""

    seconds: float
    memory: int


class Overruns:
    """How many inputs took the original more than patience allows.

    A loop that never ends for one input (of NaN) does so for others that are made alike, and each costs all there is:
    every one leaves less for the next. A rewritten program has its patience to itself: that it is slow counts.
    """

    def __init__(self) -> None:
        self.count = 0

    def left_of(self, patience: Patience) -> float:
        """The seconds that a call may take by now."""
        return patience.seconds * max(_LEAST_PATIENCE, 1 / (1 + self.count))


def run_sample(
    entry: Entry,
    sample: Sample,
    *,
    twice: bool,
    patience: Patience | None,
    before: Sample | None = None,
    between: Callable[[], None] = lambda: None,
    once: bool = False,
    sequel: Sequence[Sample] = (),
    overruns: Overruns | None = None,
) -> list[Outcome] | None:
    """A fresh instance on fresh arguments, once or twice; a second time in any case where the first changed its state.

    Where it is called twice, it is called once more on the arguments of `before`: state that was taken from one input
    shows on another. `between` is called before that. `once`: a single time, whatever it changes.
    `sequel`: one call on each of these instead, after the first. `overruns`: of the original, to which it may add one.

    An entry that cannot be built or has no arguments for the sample gives one outcome with that exception. None: an
    input of our own making was more than `patience` allows, and says nothing.
    """
    if sample.declared or patience is None:
        return _run_sample(entry, sample, twice, before, between, once, sequel)
    try:
        seconds = patience.seconds if overruns is None else overruns.left_of(patience)
        with limited(seconds * (3 if twice else 1 + len(sequel)), patience.memory, waiting=_ON_THE_CLOCK):
            outcomes = _run_sample(entry, sample, twice, before, between, once, sequel)
    except TooMuch:
        if overruns is not None:
            overruns.count += 1
        return None
    except MemoryError:
        return None
    error = outcomes[-1].error
    return None if error is not None and is_too_much(error.kind, error.message) else outcomes


def _run_sample(
    entry: Entry,
    sample: Sample,
    twice: bool,
    before: Sample | None,
    between: Callable[[], None],
    once: bool,
    sequel: Sequence[Sample],
) -> list[Outcome]:
    try:
        program = sample.prepare(entry.build())
    except (Exception, SystemExit) as error:
        return [_not_run(raised(error))]

    @contextlib.contextmanager
    def surroundings() -> Iterator[None]:
        with entry.surroundings(), sample.around():
            yield

    outcomes: list[Outcome] = []
    again = sequel or (sample, *((before,) if before is not None else ()))
    for number, given in enumerate((sample, *again)):
        if number and not sequel and (once or not (twice or outcomes[0].state_changed)):
            break
        if number == 2 and not sequel:
            between()
        try:
            arguments = given.make()
        except (Exception, SystemExit) as error:
            return [*outcomes, _not_run(raised(error))]
        gradients = sample.differentiable and given.differentiable
        outcomes.append(
            run(program, arguments, seed=sample.seed + number, gradients=gradients, surroundings=surroundings)
        )
        if not outcomes[-1].returned:
            break
    return outcomes


def _not_run(error: Raised) -> Outcome:
    nothing = Constant("NoneType", None)
    return Outcome(None, error, nothing, {}, frozenset(), 0, 0, False, False, None, None, 0.0)
