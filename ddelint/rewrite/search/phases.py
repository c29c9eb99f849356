"""One phase of the search: what a state asks is fixed, all together or one after the other, as far as that goes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ddelint.nouns.diagnostics import NEEDS_A_PROMISE, TIME_IS_OVER, Claim, Diagnostic, Question, Refusal
from ddelint.nouns.protocol import COUNTED, Compilation, TargetResult
from ddelint.rewrite.candidate import Candidate
from ddelint.rewrite.search import last_resort
from ddelint.rewrite.search.asking import Asking
from ddelint.rewrite.search.at_once import AtOnce
from ddelint.rewrite.search.by_hand import rewritten_lines
from ddelint.rewrite.search.history import History
from ddelint.rewrite.search.judging import Judging
from ddelint.rewrite.search.needed import Needed
from ddelint.rewrite.search.order import loops_first
from ddelint.rewrite.search.signatures import without_signature
from ddelint.rewrite.search.steps import Key, Known, State, Step, flaws, is_repeated, key_of, known_as, without
from ddelint.rewrite.search.trying import Trying, WrongBefore
from ddelint.sources.sites import locate

MOST_STEPS = 40
_BESIDE = frozenset(("other", "assumed", "autocast", COUNTED))
"""Kinds of questions that are named beside those that ask: a program that has one may be verified all the same."""


@dataclass(frozen=True, slots=True)
class Listener:
    """Who hears how the search goes."""

    progress: Callable[[str], None] = lambda text: None
    """What is being done."""
    share: Callable[[int, int], None] = lambda done, total: None
    """How much of it is done."""
    found: Callable[[Diagnostic, str], None] = lambda diagnostic, outcome: None
    """A finding, and what has come of it by now."""


NOBODY = Listener()


class Phase:
    """What the phases of one search share: whom they ask, what they have learned, how long they may take."""

    def __init__(
        self,
        asking: Asking,
        judging: Judging,
        trying: Trying,
        needed: Needed,
        wanted: Callable[[Diagnostic], bool],
        hears: Listener,
        seconds_left: Callable[[], float],
    ) -> None:
        self._asking = asking
        self._judging = judging
        self._trying = trying
        self._needed = needed
        self._wanted = wanted
        self._hears = hears
        self._seconds_left = seconds_left
        self._at_once = AtOnce(asking, judging, trying, wanted)
        self.hopeless: Mapping[Key, Diagnostic] = {}
        """While regions are taken out of the program: the questions that nothing else has cleared."""

    def run(self, state: State, *, allow_unsafe: bool, fixing: bool = True, may_begin_anew: bool = False) -> State:
        """Fix what is asked, all together or one after the other, until none is left that can be fixed."""
        self._asking.traces.forward_first = self._asking.takes_long(state.history)
        for _ in range(MOST_STEPS):
            if self._asking.is_over():
                self._give_up(state, fixing=fixing)
                return state
            self._report(state)
            late = self._seconds_left() <= 0
            if fixing and not allow_unsafe and (proposals := self._at_once.proposals(state, late=late)):
                self._hears.progress(f"{len(proposals)} questions together")
                self._report_share(state)
                self._at_once.fix(state, proposals)
                continue
            question = self._next_question(state, may_begin_anew=may_begin_anew and not late)
            if question is None:
                return state
            key = key_of(state.history, question)
            diagnostic = self._asking.diagnosed(state.history, question)
            self._hears.progress(f"{diagnostic.code} {question.expression}")
            self._report_share(state)
            known = self.hopeless[key].refused if key in self.hopeless else ()
            refused = list(known if fixing else self._trying.refused.get(key, ()))
            try:
                step_history = (
                    self._fix(state, question, key, diagnostic, allow_unsafe, refused)
                    if fixing and self._wanted(self._asking.at_home(state.history, diagnostic))
                    else None
                )
            except WrongBefore as found:
                state = without(state, [found.step])
                continue
            finally:
                self._asking.forget()
            self._trying.refused[key] = tuple(refused)
            if step_history is None:
                home = replace(self._asking.at_home(state.history, diagnostic), refused=tuple(refused))
                if question.kind in _BESIDE:
                    state.tried.add(key)
                    state.others[key] = home
                else:
                    state.given_up[key] = home
            else:
                state.others.pop(key, None)
                state.history, step = step_history
                state.steps.append(replace(step, diagnostic=replace(step.diagnostic, refused=tuple(refused))))
        return state

    def _give_up(self, state: State, *, fixing: bool) -> None:
        """Whatever is still open stays so, since there is no time left to work anything out."""
        for question in self._asking.asked(state.history):
            key = key_of(state.history, question)
            if question.kind == "other":
                self._note_other(state, question)
            elif key not in state.given_up:
                home = self._asking.found(state.history, question)
                known = self._trying.refused.get(key, ())
                untried = last_resort.untried(home) if fixing and self._wanted(home) else ()
                state.given_up[key] = replace(home, refused=(*known, *untried))

    def _report(self, state: State) -> None:
        """Say what is known by now: what is asked, and what came of what was."""
        for question in self._asking.asked(state.history):
            diagnostic = self._asking.found(state.history, question)
            if question.kind != "other" and self._wanted(diagnostic):
                self._hears.found(diagnostic, "")
        for diagnostic in state.given_up.values():
            self._hears.found(diagnostic, "no fix")
        for step in state.steps:
            self._hears.found(step.diagnostic, f"{step.applicability} fix")

    def _report_share(self, state: State) -> None:
        """How many questions are settled, of those that are known by now; the final verification counts as one."""
        done = len(state.steps) + len(state.given_up)
        self._hears.share(done, done + self._open(state) + 1)

    def _open(self, state: State) -> int:
        """How many questions are neither fixed nor given up, of those that are known by now."""
        asking = [q for q in self._asking.asked(state.history) if q.kind != "other"]
        return sum(key_of(state.history, question) not in state.given_up for question in asking)

    def _next_question(self, state: State, *, may_begin_anew: bool) -> Question | None:
        questions = self._asking.asked(state.history)
        for question in questions:
            if question.kind == "other":
                self._note_other(state, question)
        asking = [q for q in questions if q.kind != "other"]
        for question in loops_first(self._asking, state.history, asking):
            if key_of(state.history, question) not in state.given_up:
                return question
        traces = self._asking.traces
        if asking and traces.forward_first and traces.may_ask_jointly() and self._seconds_left() > 0:
            traces.forward_first = False  # nothing is left to fix in the forward: what does its gradient ask?
            return self._next_question(state, may_begin_anew=may_begin_anew)
        fixable = self._fixable(state, questions)
        if fixable is not None or asking or self._asking.trace(state.history).failure is not None:
            return fixable
        return self._next_compiled_question(state, may_begin_anew=may_begin_anew)

    def _fixable(self, state: State, questions: Sequence[Question]) -> Question | None:
        """The first failure that is not data-dependent and that a move knows an answer to all the same."""
        for question in questions:
            if question.kind not in _BESIDE or key_of(state.history, question) in state.tried:
                continue
            diagnostic = self._asking.diagnosed(state.history, question)
            known = key_of(state.history, question) in self.hopeless
            if known or next(iter(self._asking.candidates(state.history, question, diagnostic)), None) is not None:
                return question
        return None

    def _next_compiled_question(self, state: State, *, may_begin_anew: bool) -> Question | None:
        """What only the front ends themselves ask, once the fake run asks nothing any more.

        What was rewritten is verified at once as it is to be in the end, up to the first target that asks what was not
        tried yet: a front end that asks does so before anything expensive, and what goes through has been verified.
        That is the program without the fixes that nothing needs, which the state keeps: one that turns out wrong may
        have made them so. What needs no fix is traced and lowered, but not compiled. Nor is a program with a doubted
        fix, where the search `may_begin_anew` without it.
        """
        if state.steps:
            needed = self._needed.of(state)
            # what takes longest is not done for a program that does not stay
            if self._judging.is_wrong(needed, late=self._seconds_left() <= 0):
                return None
            if may_begin_anew and self._judging.is_doubted(needed):
                return None
            state.compilation = self._judging.verified(needed, lambda one: self._first_open(needed, one) is not None)
            asked = self._first_open(needed, state.compilation)
            if asked is not None:  # it is asked of that text
                state.history, state.steps = needed.history, needed.steps
            return asked
        compilation = self._asking.compile(state.history)
        state.compilation = compilation
        asked = self._first_open(state, compilation)
        if asked is not None or any(result.error for result in compilation.results):
            return asked
        return self._first_open(state, self._asking.lower(state.history))

    def _first_open(self, state: State, compilation: Compilation) -> Question | None:
        """The first question of a compilation that has not been given up; what is no question is noted."""
        for result in compilation.results:
            for question in result.questions:
                if question.span.filename not in self._asking.originals:
                    continue
                if question.kind == "assumed" and self._is_harmless(state, result):
                    continue
                if question.kind in _BESIDE:
                    self._note_other(state, question)
                    if self._fixable(state, (question,)) is not None:
                        return question
                elif key_of(state.history, question) not in state.given_up:
                    return question
        return None

    def _is_harmless(self, state: State, result: TargetResult) -> bool:
        """Whether a guess of the framework's is wrong at most on inputs that a fix refuses in eager as well: a promise,
        or a fact that was stated."""
        if any(mismatch.speaks_against for mismatch in result.mismatches):
            return False
        if any(step.candidate.claim is Claim.PROMISE for step in state.steps):
            return True
        mismatches = self._judging.compare_whole(state).mismatches if state.steps else ()
        return any(mismatch.where == "eager" and mismatch.is_refusal for mismatch in mismatches)

    def _note_other(self, state: State, question: Question) -> None:
        key = key_of(state.history, question)
        state.others.setdefault(key, self._asking.found(state.history, question))

    def _fix(
        self,
        state: State,
        question: Question,
        key: Key,
        diagnostic: Diagnostic,
        allow_unsafe: bool,
        refused: list[Refusal],
    ) -> tuple[History, Step] | None:
        seen: set[tuple[object, ...]] = set()
        left = self._seconds_left()
        share_is_over_at = max(0.0, left - left / max(1, self._open(state)))
        second_best: tuple[History, Step] | None = None
        for candidate in self._looked_ahead(state, question, key, diagnostic, allow_unsafe, refused, share_is_over_at):
            if second_best is not None and (candidate.claim is Claim.PROMISE or candidate.last_resort):
                return second_best
            one = known_as(key, candidate)
            known = allow_unsafe and one in self._trying.merely_unsafe
            if not known and self._seconds_left() <= share_is_over_at:
                told = self._trying.reasons.get(one, TIME_IS_OVER)
                refused.append(self._refusal(state, candidate, one, told))
                if told != TIME_IS_OVER or (allow_unsafe and self._trying.merely_unsafe):
                    continue
                return second_best
            if candidate.edits in seen:
                continue
            seen.add(candidate.edits)
            reason = self._trying.ban_on(key, candidate)
            if reason is None and is_repeated(state, key, candidate):
                reason = "the same move has been made here before, and something is asked all the same"
            kept = None
            if reason is None:
                kept, reason = self._trying.alone(state, question, key, diagnostic, candidate, allow_unsafe)
            if kept is not None and not flaws(kept[1]):
                return kept
            if kept is not None and (second_best is None or flaws(kept[1]) < flaws(second_best[1])):
                second_best = kept
            if reason:
                refused.append(self._refusal(state, candidate, one, reason))
                if candidate.claim is not Claim.PROMISE and one not in self._trying.merely_unsafe:
                    self._trying.reasons[one] = reason
        if second_best is None:
            source = state.history.current(question.span.filename)
            refused[:0] = without_signature(locate(source, question.span))
            refused += last_resort.untried(diagnostic) if self._asking.is_over() else ()
        return second_best

    def _refusal(self, state: State, candidate: Candidate, known: Known, reason: str) -> Refusal:
        """Why a candidate was not kept; with what it comes to where whoever knows the data may know better."""
        by_hand = known in self._trying.only_on_ours or reason.startswith((TIME_IS_OVER, NEEDS_A_PROMISE))
        source = state.history.current(candidate.edits[0].span.filename) if by_hand and candidate.edits else None
        code = "" if source is None else rewritten_lines(source, candidate.edits)
        return Refusal(candidate.move, candidate.message, reason, code)

    def _looked_ahead(
        self,
        state: State,
        question: Question,
        key: Key,
        diagnostic: Diagnostic,
        allow_unsafe: bool,
        refused: list[Refusal],
        until: float,
    ) -> Iterator[Candidate]:
        """What is offered, in order; while one is tried, the next are traced, up to so many seconds before the end."""
        waiting: deque[Candidate] = deque()
        for candidate in self._offered(state, question, key, diagnostic):
            if self._seconds_left() > until:
                self._trying.expect_alone(state, question, key, candidate, allow_unsafe)
            waiting.append(candidate)
            if len(waiting) >= self._asking.width:
                yield waiting.popleft()
        yield from waiting
        # the last come when nothing else is left to do for the program, not for the question
        if self.hopeless and last_resort.wanted(question, diagnostic):
            yield from self._asking.last_resort_candidates(state.history, question, diagnostic, refused)

    def _offered(self, state: State, question: Question, key: Key, diagnostic: Diagnostic) -> Iterator[Candidate]:
        """The candidates of the rule's moves, then of all others; then promises."""
        promises = []
        for source in (self._asking.candidates, self._asking.further_candidates) if key not in self.hopeless else ():
            for candidate in source(state.history, question, diagnostic):
                if candidate.claim is Claim.PROMISE:
                    promises.append(candidate)
                else:
                    yield candidate
        yield from promises
