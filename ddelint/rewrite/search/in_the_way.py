"""A fix that looks right by itself and spoils what another one makes, found where a question is left without a fix.

One side of a test that is taken while compiling may leave NaN where nobody looks. Whoever computes with all rows what
eager does not compute looks there.
"""

from __future__ import annotations

from itertools import islice

from ddelint.nouns.diagnostics import Claim
from ddelint.rewrite.candidate import Candidate
from ddelint.rewrite.search.asking import Asking
from ddelint.rewrite.search.judging import Judging
from ddelint.rewrite.search.steps import Key, State, Step, decisions_of, key_of, without
from ddelint.rewrite.search.trying import Trying
from ddelint.rewrite.writing.imports import EngineError
from ddelint.sources.source import SourceError

_MOST_CANDIDATES = 6
"""That are tried again for a question."""
_REASON = "beside it no fix of another question gives what the original gives"


class InTheWay:
    """Looks for such a fix among those of a state."""

    def __init__(self, asking: Asking, judging: Judging, trying: Trying) -> None:
        self._asking, self._judging, self._trying = asking, judging, trying

    def of(self, state: State) -> Step | None:
        """The fix without which a candidate holds that was refuted beside it; it is not tried again."""
        for key in state.given_up:
            for step in reversed(state.steps):
                if self._asking.is_over():
                    return None
                suspect = _takes_one_side(step.candidate) and self._trying.may_have_spoilt(step, key)
                if suspect and self._holds_without(state, step, key):
                    self._trying.ban(step, _REASON)
                    return step
        return None

    def _holds_without(self, state: State, step: Step, key: Key) -> bool:
        """Whether without a step some candidate for a question gives what the original gives, where it did not."""
        shorter = without(state, [step])
        asked = self._asking.asked(shorter.history)
        question = next((question for question in asked if key_of(shorter.history, question) == key), None)
        if question is None:
            return False
        diagnostic = self._asking.diagnosed(shorter.history, question)
        for candidate in islice(self._asking.candidates(shorter.history, question, diagnostic), _MOST_CANDIDATES):
            shown = self._trying.shown_of(step, key, candidate)
            if shown is None or candidate.claim is Claim.PROMISE or candidate.side is not None:
                continue
            try:
                alone = self._trying.applied(shorter.history, candidate, self._trying.next_number())
            except (EngineError, SourceError, ValueError):
                continue
            decisions = decisions_of(shorter.history, candidate, question, asked, shorter.steps)
            look = self._judging.first_look(shorter, alone, [candidate], decisions, candidate.claim, shown)
            if look[0].failure is None and not look[1]:
                return True
        return False


def _takes_one_side(candidate: Candidate) -> bool:
    return candidate.side is not None or candidate.claim is Claim.GENERAL_PATH
