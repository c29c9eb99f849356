"""One candidate, or several together: applied to the text, traced again, compared with the original."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Hashable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from ddelint.nouns.diagnostics import NEEDS_A_PROMISE, Applicability, Claim, Diagnostic, Question, Refusal
from ddelint.nouns.protocol import Comparison, Decision, Mismatch
from ddelint.rewrite.candidate import Candidate
from ddelint.rewrite.search import verdict
from ddelint.rewrite.search.asking import Asking
from ddelint.rewrite.search.history import History
from ddelint.rewrite.search.judging import Extent, Judging
from ddelint.rewrite.search.offering import CLAIM_RANK
from ddelint.rewrite.search.reporting import doubts
from ddelint.rewrite.search.steps import (
    VALIDATION,
    Key,
    Known,
    Proposal,
    State,
    Step,
    contents,
    decisions_of,
    is_settled,
    is_unsafe_path,
    key_of,
    known_as,
)
from ddelint.rewrite.search.together import moved
from ddelint.rewrite.writing.imports import EngineError, import_edits
from ddelint.sources.sites import locate
from ddelint.sources.source import SourceError

Place = tuple[Key, Hashable, str]
"""A question, what a candidate for it comes to, and the text that it rewrites."""


@dataclass(frozen=True, slots=True)
class Refuted:
    """That a candidate gave another result than the original."""

    reason: str
    beside: frozenset[Known]
    """The fixes beside which it did."""
    shown: Mismatch | None


class WrongBefore(Exception):
    """What refutes a candidate refutes the program without it as well: a step that was kept before is wrong."""

    def __init__(self, step: Step) -> None:
        super().__init__()
        self.step = step


_LEAVING = (ast.Return, ast.Break, ast.Continue, ast.Raise)


class Trying:
    """Tries candidates for the questions of one entry, and remembers what was learned of each."""

    def __init__(self, asking: Asking, judging: Judging, last_number: int) -> None:
        """`last_number`: of the steps that are in the text already."""
        self._asking = asking
        self._judging = judging
        self._numbers = last_number
        self.banned: dict[Known, str] = {}
        """Candidates that a whole program has refuted, with the reason."""
        self._banned_sides: dict[tuple[Key, bool], str] = {}
        """The answers to tests that these came to while compiling."""
        self.doubted: dict[Known, str] = {}
        """Candidates that a few inputs showed to be safe and all samples did not."""
        self.refuted: dict[Place, Refuted] = {}
        """Candidates that gave another result than the original."""
        self._told_by: dict[Key, Mismatch] = {}
        """What showed it of a candidate that was tried with others."""
        self._held: set[tuple[Place, Mismatch]] = set()
        """What was run there, and gave the same."""
        self.refused: dict[Key, tuple[Refusal, ...]] = {}
        """Why the candidates for a question were refused when it was last tried."""
        self.reasons: dict[Known, str] = {}
        """Why a candidate was refused when it was tried last, whatever was allowed then."""
        self.only_on_ours: set[Known] = set()
        """Candidates that only inputs of our own making speak against, which may never occur."""
        self.merely_unsafe: set[Known] = set()
        """Candidates that the safe phase refused only because they are not safe: what is known costs no more time."""

    def next_number(self) -> int:
        """A number for one more step."""
        self._numbers += 1
        return self._numbers

    def may_be_safe(self, key: Key, candidate: Candidate) -> bool:
        """Whether a candidate that has not been tried may turn out safe."""
        known = known_as(key, candidate)
        return not candidate.is_never_safe and not self.ban_on(key, candidate) and known not in self.doubted

    def ban_on(self, key: Key, candidate: Candidate) -> str | None:
        """Why a candidate is not tried again: it, or another that comes to the same side of the test, was refuted."""
        same_side = self._banned_sides.get((key, candidate.side)) if candidate.side is not None else None
        return self.banned.get(known_as(key, candidate), same_side)

    def together(self, state: State, proposals: Sequence[Proposal]) -> set[Key] | None:
        """Apply all, retrace, compare; where all hold, they are the state's next steps.

        Gives the questions whose candidates don't hold; None where it isn't clear which these are.
        """
        history = state.history
        guilty = set()
        for proposal in proposals:
            try:
                history = self.applied(history, moved(proposal.candidate, state.history, history), proposal.number)
            except (EngineError, SourceError, ValueError):
                guilty.add(proposal.key)
        if guilty:
            return guilty
        decisions = tuple(decision for proposal in proposals for decision in proposal.decisions)
        expected = self._expect_together(state, history, proposals, decisions)
        candidates = [proposal.candidate for proposal in proposals]
        claim = min((candidate.claim for candidate in candidates), key=CLAIM_RANK.__getitem__)
        if self._asking.is_sooner_compared(state.history) and not all(p.settled for p in proposals):
            comparison, reason = self._judging.first_look(state, history, candidates, decisions, claim)
            if reason or verdict.doubt(comparison):
                self._asking.forget()
                return self._wrong_alone(state, proposals, comparison, claim, refuted=bool(reason))
        if self._asking.trace(history).failure is not None:
            self._asking.forget()
            return None
        guilty = {p.key for p in proposals if self._asking.still_asks(state, history, p.question, p.key, p.number)}
        if guilty:
            self._asking.forget()
            return guilty
        last = not any(q.kind != "other" for q in self._asking.trace(history).questions)
        extent = _extent(proposals, last)
        if extent is not expected:
            self._asking.forget()
        if last:
            self._judging.expect_agreement(state, history, decisions, extent)
            numbers = [*(step.number for step in state.steps), *(proposal.number for proposal in proposals)]
            if len(numbers) > 1:  # of most programs with several fixes one goes: then another text is verified
                self._asking.expect_without_each(history, numbers)
            else:
                self._asking.expect_verified(history)
        comparison, reason = self._judging.agreement(state, history, candidates, decisions, claim, extent)
        if reason or verdict.doubt(comparison):
            self._asking.forget()
            return self._wrong_alone(state, proposals, comparison, claim, refuted=bool(reason))
        for p in proposals:
            if not p.settled and any(verdict.unreached(comparison, p.decisions)):
                self._judging.unsettled.add(p.number)
            sides = comparison.sides.get(p.decisions[0].key) if p.decisions else None
            home = self._asking.at_home(state.history, p.diagnostic)
            state.others.pop(p.key, None)
            safe = Applicability.SAFE
            step = Step(p.number, p.key, home, p.candidate, p.decisions, safe, (), sides)
            state.steps.append(step)
        state.history = history
        return guilty

    def _wrong_alone(
        self, state: State, proposals: Sequence[Proposal], comparison: Comparison, claim: Claim, *, refuted: bool
    ) -> set[Key] | None:
        """The questions whose candidates differ on their own where all together do; None where that is none.

        The input set that shows it is enough to tell, and is soon run.
        """
        shown = verdict.refuting(comparison, claim) if refuted else verdict.doubting(comparison)
        suspects = [proposal for proposal in proposals if not proposal.settled]
        if shown is None or not shown.base:
            return None
        guilty = set()
        for p in suspects:
            alone = self.applied(state.history, p.candidate, p.number)
            comparison, reason = self._looked_at(state, alone, p.question, p.key, p.candidate, shown)
            if reason:
                self._told_by[p.key] = shown
            if reason or verdict.doubt(comparison):
                guilty.add(p.key)
        return guilty or None

    @staticmethod
    def _place_of(state: State, question: Question, key: Key, candidate: Candidate) -> Place:
        return key, _said(candidate), _what_decides(state.history, question)

    def is_refuted(self, state: State, question: Question, key: Key, candidate: Candidate) -> bool:
        """Whether a candidate that comes to the same gave another result."""
        return bool(self._refutation_at(state, self._place_of(state, question, key, candidate)))

    def _refutation_at(self, state: State, place: Place) -> str:
        """Why a candidate is refuted; empty where it isn't, or was beside a fix that turned out to be wrong itself, and
        has gone."""
        found = self.refuted.get(place)
        wrong = self.banned.keys() | self.doubted.keys()
        gone = wrong - {known_as(step.key, step.candidate) for step in state.steps}
        return found.reason if found is not None and not found.beside & gone else ""

    def may_have_spoilt(self, step: Step, key: Key) -> bool:
        """Whether a candidate for a question was refuted beside a fix, and not in eager, which that leaves alone."""
        return next(self._spoilt(step, key), None) is not None

    def shown_of(self, step: Step, key: Key, candidate: Candidate) -> Mismatch | None:
        """What showed that of a candidate, whatever its text was then."""
        said = _said(candidate)
        return next((shown for place, shown in self._spoilt(step, key) if place[1] == said), None)

    def _spoilt(self, step: Step, key: Key) -> Iterator[tuple[Place, Mismatch]]:
        one = known_as(step.key, step.candidate)
        for place, found in self.refuted.items():
            if place[0] == key and one in found.beside and found.shown is not None and found.shown.where != "eager":
                yield place, found.shown

    def holds_there(self, state: State, question: Question, key: Key, candidate: Candidate) -> bool:
        """Whether it gives the same on the input that spoke against another one for the question: soon known."""
        shown, place = self._told_by.get(key), self._place_of(state, question, key, candidate)
        if shown is None or (place, shown) in self._held:
            return True
        try:
            alone = self.applied(state.history, candidate, self.next_number())
        except (EngineError, SourceError, ValueError):
            return True
        _, reason = self._looked_at(state, alone, question, key, candidate, shown)
        if not reason:
            self._held.add((place, shown))
        return not reason

    def _looked_at(
        self, state: State, alone: History, question: Question, key: Key, candidate: Candidate, shown: Mismatch
    ) -> tuple[Comparison, str]:
        """A candidate alone on the input that something showed on, and why it is refuted there, which is remembered."""
        decisions = decisions_of(state.history, candidate, question, self._asking.asked(state.history), state.steps)
        comparison, reason = self._judging.first_look(state, alone, [candidate], decisions, candidate.claim, shown)
        if reason:
            place = self._place_of(state, question, key, candidate)
            self._remember_refuted(state, place, candidate, comparison, reason)
        return comparison, reason

    def _expect_together(
        self, state: State, history: History, proposals: Sequence[Proposal], decisions: tuple[Decision, ...]
    ) -> Extent:
        """That the proposals hold, and that what is asked by now is all there is; gives the extent of judging them."""
        self._asking.traces.expect(history)
        keys = {proposal.key for proposal in proposals}
        asked = [q for q in self._asking.asked(state.history) if q.kind != "other"]
        extent = _extent(proposals, all(key_of(state.history, question) in keys for question in asked))
        self._judging.expect_agreement(state, history, decisions, extent)
        return extent

    def expect_alone(
        self, state: State, question: Question, key: Key, candidate: Candidate, allow_unsafe: bool
    ) -> None:
        """That `alone` will be asked for a candidate: what it asks first is begun."""
        promised = candidate.claim is Claim.PROMISE and not allow_unsafe
        banned = self.ban_on(key, candidate) is not None
        said = _said(candidate)
        refuted = banned or any(
            place[:2] == (key, said) and self._refutation_at(state, place) for place in self.refuted
        )
        if self._asking.width == 1 or promised or refuted:
            return
        with suppress(EngineError, SourceError, ValueError):
            history = self.applied(state.history, candidate, self._numbers + 1)
            if candidate.last_resort or not self._asking.is_sooner_compared(state.history):
                self._asking.traces.expect(history, step=None if candidate.last_resort else self._numbers + 1)
                return
            asked = self._asking.asked(state.history)
            decisions = decisions_of(state.history, candidate, question, asked, state.steps)
            self._judging.expect_agreement(state, history, decisions, Extent.FEW)

    def alone(
        self,
        state: State,
        question: Question,
        key: Key,
        diagnostic: Diagnostic,
        candidate: Candidate,
        allow_unsafe: bool,
    ) -> tuple[tuple[History, Step] | None, str]:
        """Apply, retrace, compare. Gives the new history and step, or None and the reason.

        Raises WrongBefore where a step of the state is to blame, which is not tried again.
        """
        if candidate.claim is Claim.PROMISE and not allow_unsafe:
            return None, f"{NEEDS_A_PROMISE} (--unsafe-fixes)"
        place = self._place_of(state, question, key, candidate)
        if known_reason := self._refutation_at(state, place):
            return None, known_reason
        number = self.next_number()
        try:
            history = self.applied(state.history, candidate, number)
            if candidate.last_resort:
                history = self._with_fake_kernels(state, history, number)
        except (EngineError, SourceError, ValueError) as error:
            return None, f"cannot be applied: {error}"
        decisions = decisions_of(state.history, candidate, question, self._asking.asked(state.history), state.steps)
        settled = is_settled(state.history, candidate, diagnostic)
        one_sided = next((d.key for d in decisions if d.key in self._judging.one_sided), None)
        if one_sided is not None and not settled and not allow_unsafe:
            return None, f"not safe: {self._judging.one_sided[one_sided]}"
        if self._is_suspect(key):
            before, refuted, told = self._judging.told_before(
                state, history, candidate, decisions, allow_unsafe=allow_unsafe
            )
            if before is not None and refuted:
                self._remember_refuted(state, place, candidate, before, refuted)
                return None, refuted
            if told:
                self.merely_unsafe.add(known_as(key, candidate))
                return None, f"not safe: {told}"
        if not candidate.last_resort and self._asking.is_sooner_compared(state.history):
            comparison, refuted = self._judging.first_look(state, history, [candidate], decisions, candidate.claim)
            if refuted:
                self._remember_refuted(state, place, candidate, comparison, refuted)
                return None, refuted
            told = "" if allow_unsafe or comparison.failure is not None else verdict.doubt(comparison)
            if told:
                self.merely_unsafe.add(known_as(key, candidate))
                return None, f"not safe: {told}"
        open_reason = self._asking.still_asks(state, history, question, key, number)
        if open_reason:
            return None, open_reason
        # behind a side that eager alone takes, a check may stop what eager never brings to it
        behind_a_shortcut = diagnostic.code == VALIDATION and any(map(is_unsafe_path, state.steps))
        extent = Extent.FEW if settled else Extent.BOTH_SIDES
        doubted = self.doubted.get(known_as(key, candidate))  # on all inputs: no need to run it on them again
        if behind_a_shortcut or (self._is_suspect(key) and not doubted):
            extent = Extent.FEW_THEN_ALL
        comparison, refuted = self._judging.agreement(state, history, [candidate], decisions, candidate.claim, extent)
        if refuted:
            if comparison.failure is None:
                shown = verdict.refuting(comparison, candidate.claim)
                # on a few inputs the steps have been judged before
                wrong = None if extent is Extent.FEW else self._judging.guilty_before(state, shown)
                if wrong is not None:
                    self.ban(*wrong)
                    raise WrongBefore(wrong[0])
                self._remember_refuted(state, place, candidate, comparison, refuted)
            return None, refuted
        reasons = doubts(comparison, candidate, () if settled else decisions, state)
        called_elsewhere = self._asking.other_callers(state.history, question, candidate)
        reasons += [called_elsewhere] if called_elsewhere else []
        reasons += [doubted] if doubted and doubted not in reasons else []
        applicability = Applicability.UNSAFE if reasons else Applicability.SAFE
        if reasons and not allow_unsafe:
            self.merely_unsafe.add(known_as(key, candidate))
            return None, f"not safe: {'; '.join(reasons)}"
        home = self._asking.at_home(state.history, diagnostic)
        sides = comparison.sides.get(decisions[0].key) if decisions else None
        raises = diagnostic.code == VALIDATION and verdict.narrows(comparison)
        known = {reason for step in state.steps for reason in step.reasons}
        is_another = verdict.gives_another(comparison, known) or doubted in self._judging.said_another - known
        parts = verdict.parts_the_sides(comparison, known) or is_another
        step = Step(number, key, home, candidate, decisions, applicability, tuple(reasons), sides, raises, parts)
        return (history, step), ""

    def _remember_refuted(
        self, state: State, place: Place, candidate: Candidate, comparison: Comparison, reason: str
    ) -> None:
        shown = verdict.refuting(comparison, candidate.claim)
        beside = frozenset(known_as(step.key, step.candidate) for step in state.steps)
        self.refuted[place] = Refuted(reason, beside, shown)
        if shown is not None and not shown.declared:
            self.only_on_ours.add(known_as(place[0], candidate))

    def applied(self, history: History, candidate: Candidate, number: int) -> History:
        """The history with a candidate's edits and imports as step `number`.

        Raises EngineError, ValueError or SourceError where these do not fit or give no Python.
        """
        changed = history.add(candidate.edits, number)
        filename = candidate.edits[0].span.filename
        imports = import_edits(changed.current(filename), candidate.imports)
        if imports:
            changed = changed.add(imports, number)
        for name in {edit.span.filename for edit in candidate.edits}:
            _ = changed.current(name).tree
        return changed

    def _with_fake_kernels(self, state: State, history: History, number: int) -> History:
        """The history with a fake kernel for each operator that step `number` made and that the tracer missed.

        Where nothing but the step's question is open, that is what is asked first, if anything is.
        """
        open_questions = [question for question in self._asking.asked(state.history) if question.kind != "other"]
        soon, whole = self._asking.traces.until_anything_asks, self._asking.trace
        looks = [soon, whole] if len(open_questions) <= 1 else [whole]
        for question in itertools.chain.from_iterable(look(history).questions for look in looks):
            if question.fake and question.span.filename in self._asking.originals:
                diagnostic = self._asking.diagnosed(history, question)
                kernel = next(self._asking.candidates(history, question, diagnostic), None)
                if kernel is not None:
                    return self.applied(history, kernel, number)
        return history

    def ban(self, step: Step, reason: str) -> None:
        """Never try a step's candidate again."""
        self.banned[known_as(step.key, step.candidate)] = reason
        if step.candidate.side is not None:
            self._banned_sides[step.key, step.candidate.side] = reason
        refusal = Refusal(step.candidate.move, step.candidate.message, reason)
        self.refused[step.key] = (*self.refused.get(step.key, ()), refusal)

    def allow(self, step: Step) -> None:
        """Take a ban back, as if it had never been."""
        self.banned.pop(known_as(step.key, step.candidate), None)
        if step.candidate.side is not None:
            self._banned_sides.pop((step.key, step.candidate.side), None)
        self.refused[step.key] = self.refused[step.key][:-1]

    def _is_suspect(self, key: Key) -> bool:
        """Whether a candidate at the place looked right on a few inputs before, and was not on all.

        That all of them show one side only is no reason to run them again.
        """
        unseen = set(self._judging.one_sided.values())
        known = [*self.banned, *(one for one, reason in self.doubted.items() if reason not in unseen)]
        return any((other.filename, other.row) == (key.filename, key.row) for other, _, _ in known)


def _extent(proposals: Sequence[Proposal], last: bool) -> Extent:
    """On how many inputs proposals are judged together; `last`: nothing asks any more, so all samples are to come."""
    if not last:
        return Extent.FEW
    return Extent.ALL if all(proposal.settled for proposal in proposals) else Extent.FEW_THEN_ALL


def _said(candidate: Candidate) -> Hashable:
    """What a candidate comes to: the answer to a test, however that is written, or what it puts into the text."""
    if candidate.side is not None:
        return candidate.side, candidate.decisions
    return candidate.move, contents(candidate)


def _what_decides(history: History, question: Question) -> str:
    """The text that runs or doesn't as a question is answered: a statement; where it leaves the block, the function.

    What differs from the original while this is the same differs whatever is fixed elsewhere: as long as a question is
    open, eager answers it.
    """
    source = history.current(question.span.filename)
    site = locate(source, question.span)
    if site is None:
        return source.text
    leaves = any(isinstance(node, _LEAVING) for node in ast.walk(site.statement))
    whole = site.function if leaves and site.function is not None else site.statement
    return source.segment(source.span(whole))
