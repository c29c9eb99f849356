"""All questions of one trace fixed at once, by the first candidate of each that may be safe."""

from __future__ import annotations

import ast
from collections.abc import Callable

from ddelint.nouns.diagnostics import Diagnostic, Question
from ddelint.rewrite.candidate import Candidate
from ddelint.rewrite.reading.knowledge import knowledge
from ddelint.rewrite.search.asking import Asking
from ddelint.rewrite.search.history import History
from ddelint.rewrite.search.judging import Judging
from ddelint.rewrite.search.order import loops_first
from ddelint.rewrite.search.steps import Key, Proposal, State, decisions_of, is_repeated, is_settled, key_of
from ddelint.rewrite.search.together import fit_together
from ddelint.rewrite.search.trying import Trying
from ddelint.sources.sites import locate


class AtOnce:
    """Fixes what is asked together, as one program.

    The program that is judged is thus the one that is kept, and a file takes as many rounds as sites hide behind
    others, not as many as there are sites. What doesn't hold is tried in halves, and at last each on its own.
    """

    def __init__(self, asking: Asking, judging: Judging, trying: Trying, wanted: Callable[[Diagnostic], bool]) -> None:
        self._asking, self._judging, self._trying, self._wanted = asking, judging, trying, wanted
        self._alone: set[Key] = set()
        """Questions whose first candidate did not hold together with those of others."""
        self._postponed: set[Key] = set()
        """Questions that wait until others are fixed together, or not."""
        self._is_over = False
        """Whether the one round that is left when time is over has been had."""

    def proposals(self, state: State, *, late: bool) -> list[Proposal]:
        """What to try together now; nothing where that is no use.

        Once it is `late`, what needs one side alone, and that once: no other candidate is looked at any more.
        """
        if late:
            found = [] if self._is_over else self._proposals(state, settled=True)
            self._is_over = True
            return found
        found = self._proposals(state)
        if self._are_too_few(found) and self._postponed:
            self._postponed.clear()
            found = self._proposals(state)
        return [] if self._are_too_few(found) else found

    def fix(self, state: State, proposals: list[Proposal]) -> None:
        """Try the proposals as one program; those that do not hold wait, or are tried on their own.

        Where it isn't clear which these are, what needs one side alone is least likely among them, and comes
        first: a question that is gone disturbs no other.
        """
        guilty = self._trying.together(state, proposals)
        if guilty is None:
            settled = [proposal for proposal in proposals if proposal.settled]
            kept = settled if 0 < len(settled) < len(proposals) else proposals[: max(2, len(proposals) // 2)]
            waiting = [proposal.key for proposal in proposals if proposal not in kept]
            if not waiting:
                self._alone.update(proposal.key for proposal in proposals)
            elif len(waiting) == 1 and kept is settled:
                self._alone.update(waiting)
            self._postponed.update(waiting)
        elif guilty:
            # what was refuted has another candidate, or none: seen before anything is traced for the question alone
            self._alone.update(p.key for p in proposals if p.key in guilty and not self._is_refuted(state, p))
        else:
            self._postponed.clear()

    def _may_hold(self, state: State, question: Question, key: Key, candidate: Candidate) -> bool:
        """Whether a candidate may turn out safe: for all that is known, and on the input that refuted another one."""
        if is_repeated(state, key, candidate) or not self._trying.may_be_safe(key, candidate):
            return False
        if self._trying.is_refuted(state, question, key, candidate):
            return False
        return self._trying.holds_there(state, question, key, candidate)

    def _is_refuted(self, state: State, proposal: Proposal) -> bool:
        return self._trying.is_refuted(state, proposal.question, proposal.key, proposal.candidate)

    @staticmethod
    def _are_too_few(found: list[Proposal]) -> bool:
        """Whether there is nothing to gain by fixing these first, and together."""
        return len(found) < 2 and not any(proposal.settled for proposal in found)

    def _proposals(self, state: State, *, settled: bool = False) -> list[Proposal]:
        """The first candidate that may be safe of each question, as far as they can stand in one text."""
        found: list[Proposal] = []
        for question in loops_first(self._asking, state.history, self._asking.asked(state.history)):
            if question.kind == "other":
                continue
            key = key_of(state.history, question)
            if key in state.given_up or (not settled and key in self._alone | self._postponed):
                continue
            diagnostic = self._asking.diagnosed(state.history, question)
            if not self._wanted(self._asking.at_home(state.history, diagnostic)):
                continue
            offered = self._asking.candidates(state.history, question, diagnostic)
            candidate = next((one for one in offered if self._may_hold(state, question, key, one)), None)
            is_settled_alone = candidate is not None and is_settled(state.history, candidate, diagnostic)
            called_elsewhere = candidate is not None and self._asking.other_callers(state.history, question, candidate)
            unfit = candidate is None or called_elsewhere or _is_expensive(state.history, question, candidate)
            if candidate is None or unfit or (settled and not is_settled_alone):
                self._alone.add(key)
                continue
            decisions = decisions_of(state.history, candidate, question, self._asking.asked(state.history), state.steps)
            if not is_settled_alone and any(decision.key in self._judging.one_sided for decision in decisions):
                self._alone.add(key)
            elif fit_together([proposal.candidate for proposal in found], candidate, state.history.current):
                number = self._trying.next_number()
                found.append(Proposal(number, key, question, diagnostic, candidate, decisions, is_settled_alone))
        return found


def _is_expensive(history: History, question: Question, candidate: Candidate) -> bool:
    """Whether a candidate hands control flow to the compiler in each turn of a loop: that takes long to trace."""
    site = locate(history.current(question.span.filename), question.span)
    if site is None or candidate.move not in knowledge().beyond.control_flow:
        return False
    return any(isinstance(node, (ast.For, ast.While)) for node in site.source.ancestors(site.statement))
