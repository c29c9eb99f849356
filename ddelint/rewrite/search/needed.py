"""Which fixes of a program nothing needs any more: each is taken back alone, and where nothing asks then, it goes.

That is asked before the program is verified: of most programs with several fixes one goes, and what is compiled and
compared should be the text that is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ddelint.nouns.protocol import COUNTED, Compilation
from ddelint.rewrite.search.asking import Asking
from ddelint.rewrite.search.history import History
from ddelint.rewrite.search.judging import Judging
from ddelint.rewrite.search.prover import passes
from ddelint.rewrite.search.steps import State, Step, dropped, key_of

Known = tuple[tuple[tuple[str, str], ...], tuple[int, ...]]
"""What a state's fixes are known by: its texts, and the numbers of its steps."""
_TRACED = "export"
"""Among what asks a question: the front end that asks what a trace does."""
_NO_QUESTION = "other"
"""What stops a front end and is no question: no trace shows it."""


class Needed:
    """Leaves out the fixes that nothing needs, and remembers which these are."""

    def __init__(
        self, asking: Asking, judging: Judging, seconds_left: Callable[[], float], says: Callable[[str], None]
    ) -> None:
        self._asking = asking
        self._judging = judging
        self._seconds_left = seconds_left
        self._says = says
        self._known: dict[Known, frozenset[int]] = {}

    def of(self, state: State) -> State:
        """The state without the fixes that nothing needs; the same where all are, or time is over and nobody knows.

        What is known stays known: a text that was verified is the one that is written, however late it is. Where a
        trace stops for another reason before the program's end, it misses nothing that stands behind.
        """
        if len(state.steps) < 2 or state.given_up or self._asking.stops(state.history):
            return state
        key = tuple(sorted(state.history.overlay.items())), tuple(step.number for step in state.steps)
        if key not in self._known:
            if self._seconds_left() <= 0:
                return state
            left = {step.number for step in self._needed(state).steps}
            self._known[key] = frozenset(step.number for step in state.steps if step.number not in left)
        for step in [step for step in state.steps if step.number in self._known[key]]:
            self._says(f"not needed: {step.candidate.message}")
            state = dropped(state, step)
        return state

    def _needed(self, state: State) -> State:
        """Without what no trace misses, where that goes through every target: it is verified as the program is to be.

        Where it doesn't, a front end may need one of these fixes: then each is asked for on its own. What it asks at
        other places it would ask with all of them.
        """
        shorter = self._left(state, self._is_missed_by_traces)
        if shorter is state or self._judging.is_wrong(shorter):
            return shorter
        compilation, gone = self._judging.verified(shorter, _stops), _without(state, shorter)
        if _goes_through(compilation):
            return shorter
        if _asks_elsewhere(compilation, shorter, gone) and self._rest_asks_elsewhere(compilation, shorter, gone):
            return shorter
        # where the whole program goes through no front end either, to compile it without each fix would show nothing
        if not _goes_through(self._asking.compile(state.history)):
            return state
        return self._left(state, self._is_missed)

    def _rest_asks_elsewhere(self, compilation: Compilation, state: State, gone: Sequence[Step]) -> bool:
        """The same of the targets that the program was not verified by, as far as their front ends say."""
        known = {result.target for result in compilation.results}
        rest = tuple(target for target in self._asking.targets if target not in known)
        return not rest or _asks_elsewhere(self._asking.compile(state.history, targets=rest), state, gone)

    def _left(self, state: State, is_missed: Callable[[Step, History], bool]) -> State:
        """What is left of a state once each fix has been taken back alone; the state itself where that is all."""
        steps = list(state.steps)
        self._expect(state, steps)
        for number, step in enumerate(steps, 1):
            history = state.history.without(step.number)
            if history is None or is_missed(step, history):
                continue
            state = dropped(state, step)
            self._asking.forget()
            self._expect(state, steps[number:])
        return state

    def _expect(self, state: State, steps: Sequence[Step]) -> None:
        self._asking.expect_without_each(state.history, [step.number for step in steps])

    def _is_missed_by_traces(self, step: Step, history: History) -> bool:
        """Whether a trace asks without a step; where a front end has asked for it, whether that does."""
        if _TRACED not in step.diagnostic.asks or step.key.kind == _NO_QUESTION:
            return self._is_missed(step, history)
        return self._asking.asks_anything(history)

    def _is_missed(self, step: Step, history: History) -> bool:
        """Whether a trace or a front end asks without a step; what is counted in Python stops neither."""
        is_known = step.key.kind == COUNTED or self._asking.is_known_to_stop(history, step.key)
        if is_known or self._asking.asks_anything(history):
            return True
        # what Inductor alone has asked is not asked by what comes before it
        asked = (self._asking.compile, *([self._asking.lower] if "inductor" in step.diagnostic.asks else []))
        return not all(_goes_through(ask(history)) for ask in asked)


def _without(state: State, shorter: State) -> list[Step]:
    left = {step.number for step in shorter.steps}
    return [step for step in state.steps if step.number not in left]


def _asks_elsewhere(compilation: Compilation, state: State, gone: Sequence[Step]) -> bool:
    """Whether all that stops a program are questions, none of them on a line that a step which has gone was about."""
    stopped = [result for result in compilation.results if not result.ok]
    if compilation.failure is not None or not all(r.questions and not (r.error or r.mismatches) for r in stopped):
        return False
    rows = {(step.key.filename, step.key.row) for step in gone}
    keys = [key_of(state.history, question) for result in stopped for question in result.questions]
    return not any((key.filename, key.row) in rows for key in keys)


def _stops(compilation: Compilation) -> bool:
    return not _goes_through(compilation)


def _goes_through(compilation: Compilation) -> bool:
    return compilation.failure is None and all(map(passes, compilation.results))
