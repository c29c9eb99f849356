"""Programs held against the original; each answer is had once, and as many as possible from one run of the original."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import median

from ddelint.nouns.protocol import Comparison, Decision
from ddelint.rewrite.search.history import History
from ddelint.rewrite.search.prover import Ahead, Prover


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

    def of(
        self,
        history: History,
        decisions: Sequence[Decision],
        samples: int,
        *,
        quick: bool,
        only: frozenset[str] = frozenset(),
        exactly: str = "",
    ) -> Comparison:
        """A program against the original, in eager and on the path that tracing takes.

        `only` on some input sets, and of what is made of these on the one that is labelled `exactly` so, where that is
        known by then.
        """
        key = _key(history, decisions, samples, quick, only, exactly)
        if key not in self._known:
            watched = self._watched_with(decisions, quick=quick)
            if not quick:
                self._watched = dict.fromkeys(watched)
            unique = tuple(dict.fromkeys(decisions))
            self._known[key] = self._prover.compare(
                history.overlay, unique, samples, quick, only=only, exactly=exactly, watched=watched
            )
        return self._known[key]

    def expect(
        self,
        history: History,
        decisions: Sequence[Decision],
        samples: int,
        *,
        quick: bool,
        only: frozenset[str] = frozenset(),
        exactly: str = "",
    ) -> None:
        """That a program will be asked about: as `of`."""
        if self._ahead is None or _key(history, decisions, samples, quick, only, exactly) in self._known:
            return
        watched, unique = self._watched_with(decisions, quick=quick), tuple(dict.fromkeys(decisions))
        self._ahead.compare(history.overlay, unique, samples, quick, only=only, exactly=exactly, watched=watched)

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

    def _watched_with(self, decisions: Sequence[Decision], *, quick: bool) -> tuple[Decision, ...]:
        """What is watched while the original runs, so that as many programs as possible are held against one run.

        On a few inputs all that was asked at first; on all, what was watched before: there each costs runs of its own.
        """
        if not quick:
            return tuple(self._watched | dict.fromkeys(decisions))
        known = {decision.key: replace(decision, compiled=None) for decision in (*self.tests, *decisions)}
        return tuple(known[key] for key in sorted(known))


def _key(
    history: History, decisions: Sequence[Decision], samples: int, quick: bool, only: frozenset[str], exactly: str
) -> tuple[object, ...]:
    return tuple(sorted(history.overlay.items())), frozenset(decisions), samples, only, exactly, quick
