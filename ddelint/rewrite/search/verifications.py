"""Programs through every target, by Inductor, on all samples: what takes longest last, each answer had once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator

from ddelint.nouns.diagnostics import Question
from ddelint.nouns.protocol import Compilation
from ddelint.rewrite.search.history import History
from ddelint.rewrite.search.prover import Ahead, Prover, joined
from ddelint.rewrite.search.traces import Program, program_of


class Verifications:
    """What a session says of programs and targets, remembered by text; what is expected is begun by `ahead`."""

    def __init__(self, prover: Prover, ahead: Ahead | None, targets: tuple[str, ...], samples: int) -> None:
        self._prover = prover
        self._ahead = ahead
        self._targets = targets
        self._samples = samples
        self._known: dict[tuple[Program, str], Compilation] = {}

    def of(self, history: History, until: Callable[[Compilation], bool]) -> Compilation:
        """What comes of a program; no further than a target that could not be run, or that says enough (`until`).

        An exporter stops at once where Inductor would come to that question minutes later, or not at all.
        """
        self.expect(history)
        found = dict[str, Compilation]()
        for target in sorted(self._targets, key=_takes_longest):
            found[target] = self._by(history, target)
            if found[target].failure is not None or until(found[target]):
                self._end_the_rest()
                break
        return joined([found[target] for target in self._targets if target in found])

    def expect(self, history: History) -> None:
        """That a program will be verified: side by side; what takes longest is begun first."""
        if self._ahead is not None:
            for target in sorted(self._targets, key=_takes_longest, reverse=True):
                if (program_of(history), target) not in self._known:
                    self._ahead.compile(history.overlay, (target,), self._samples, "inductor")

    def questions(self, history: History) -> Iterator[Question]:
        """What a program is known to have asked."""
        for (program, _), found in self._known.items():
            if program == program_of(history):
                yield from (question for result in found.results for question in result.questions)

    def seconds(self) -> list[float]:
        """What it took for each of the programs that went through all targets."""
        taken = defaultdict[Program, list[float]](list)
        for (program, _), found in self._known.items():
            taken[program].append(sum(result.seconds for result in found.results))
        return [sum(seconds) for seconds in taken.values() if len(seconds) == len(self._targets)]

    def _by(self, history: History, target: str) -> Compilation:
        key = program_of(history), target
        if key not in self._known:
            self._known[key] = self._prover.compile(history.overlay, (target,), self._samples, "inductor")
        return self._known[key]

    def _end_the_rest(self) -> None:
        if self._ahead is not None:
            self._ahead.forget()


def _takes_longest(target: str) -> bool:
    return target == "compile"
