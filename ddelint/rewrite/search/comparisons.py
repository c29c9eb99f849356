"""Programs held against the original; each answer is had once, and as many as possible from one run of the original."""

from __future__ import annotations

from dataclasses import dataclass, replace
from statistics import median

from ddelint.nouns.protocol import Comparison, Decision, Mismatch
from ddelint.rewrite.search.history import History
from ddelint.rewrite.search.prover import Ahead, Prover


@dataclass(frozen=True, slots=True)
class Wanted:
    """A program that is to be held against the original, in eager and on the path that tracing takes."""

    history: History
    decisions: tuple[Decision, ...]
    samples: int
    quick: bool
    shown: Mismatch | None = None
    """What an input has shown: only what is made of that input's set is run then, and only the run that showed it where
    the original's is known by then."""

    @property
    def only(self) -> frozenset[str]:
        """The input set that is run; none of its own where all are."""
        return frozenset((self.shown.base,)) if self.shown is not None and self.shown.base else frozenset()

    @property
    def exactly(self) -> str:
        """The label of the one run that is wanted; empty for all."""
        return self.shown.sample if self.shown is not None and self.only else ""

    @property
    def key(self) -> tuple[object, ...]:
        """What is the same for programs of one text that are compared alike."""
        text = tuple(sorted(self.history.overlay.items()))
        return text, frozenset(self.decisions), self.samples, self.only, self.exactly, self.quick


class Comparisons:
    """What a session answers to comparisons, remembered by text; what is expected to be asked is begun by `ahead`."""

    def __init__(self, prover: Prover, ahead: Ahead | None) -> None:
        self._prover = prover
        self._ahead = ahead
        self._known: dict[tuple[object, ...], Comparison] = {}
        self.tests: tuple[Decision, ...] = ()
        """The tests that the originals ask about."""
        self._watched: dict[Decision, None] = {}
        """The decisions of all programs that were compared on all samples so far."""

    def of(self, wanted: Wanted) -> Comparison:
        """What comes of it; asked of the session once."""
        if wanted.key not in self._known:
            self._known[wanted.key] = self._asked(self._prover, wanted)
        return self._known[wanted.key]

    def expect(self, wanted: Wanted) -> None:
        """That it will be asked for: it is begun."""
        if self._ahead is not None and wanted.key not in self._known:
            self._asked(self._ahead, wanted)

    def seconds_of_quick(self) -> float | None:
        """What it takes to compare one more program on a few inputs; None where that is not known."""
        found = [one.seconds - one.prepared for (*_, quick), one in self._known.items() if quick]
        return median(found) if found else None

    def longest(self) -> float:
        """The seconds of the longest comparison so far, the original's runs included."""
        return max((found.seconds for found in self._known.values()), default=0.0)

    def has_whole(self) -> bool:
        """Whether a program was compared on all samples."""
        return any(not quick for *_, quick in self._known)

    def _asked(self, whom: Prover | Ahead, wanted: Wanted) -> Comparison:
        watched, unique = self._watched_with(wanted), tuple(dict.fromkeys(wanted.decisions))
        if whom is self._prover and not wanted.quick:
            self._watched = dict.fromkeys(watched)
        return whom.compare(
            wanted.history.overlay,
            unique,
            wanted.samples,
            wanted.quick,
            only=wanted.only,
            exactly=wanted.exactly,
            watched=watched,
        )

    def _watched_with(self, wanted: Wanted) -> tuple[Decision, ...]:
        """What is watched while the original runs, so that as many programs as possible are held against one run.

        On a few inputs all that was asked at first; on all, what was watched before: there each costs runs of its own.
        """
        if not wanted.quick:
            return tuple(self._watched | dict.fromkeys(wanted.decisions))
        known = {decision.key: replace(decision, compiled=None) for decision in (*self.tests, *wanted.decisions)}
        return tuple(known[key] for key in sorted(known))
