"""Propose, retrace, verify, keep or try the next, until nothing asks any more.

The search mends one site, traces again and takes the next, since a site often shows only after an earlier one is
mended. It runs in two phases: first with safe fixes alone (what `--fix` writes), then going on with unsafe ones
(`--unsafe-fixes`). At the end each fix is taken back alone, and what proves unneeded goes.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from itertools import chain
from typing import Protocol

from ddelint.catalog import rule
from ddelint.diagnostics import (
    Applicability,
    Claim,
    Diagnostic,
    Question,
    Refusal,
    TypeFact,
)
from ddelint.protocol import LOWERING, Comparison, Compilation, Decision, Overlay, TraceResult
from ddelint.rewrite import engine, last_resort, verdict
from ddelint.rewrite.bindings import moved_row
from ddelint.rewrite.candidate import MOVES, Candidate, Context
from ddelint.rewrite.history import History
from ddelint.rewrite.moves import load_moves
from ddelint.rewrite.steps import (
    VALIDATION,
    Key,
    Proposal,
    State,
    Step,
    contents,
    decisions_of,
    dropped,
    flaws,
    is_unsafe_path,
    key_of,
)
from ddelint.rewrite.telling import diagnostics, doubts, tells, unseen
from ddelint.rewrite.together import fit_together, moved
from ddelint.sites import locate
from ddelint.source import SourceError, SourceFile

QUICK_SAMPLES = 16
"""Inputs for deciding on a candidate; the final program is run on all samples."""
PROBES = 2
"""Inputs on which a candidate for a program that takes long is tried first: most wrong ones show at once."""
DEAR_SECONDS, FULL_SECONDS = 3.0, 30.0
"""What a comparison may take before its program counts as one that takes long; and what deciding may cost."""
MOST_STEPS = 40
MOST_RESTARTS = 6
_GENERATED_CODE_DIFFERS = (
    "Inductor's code gives another result than eager on an input; the same graph run by eager's kernels does not"
)
_CLAIM_RANK = {claim: rank for rank, claim in enumerate(Claim)}


class Extent(Enum):
    """On how many inputs a candidate is judged."""

    FEW = "few"
    BOTH_SIDES = "few, and more where these show one side only"
    FEW_THEN_ALL = "few, then all that can be afforded"
    ALL = "at once all, as at the end, unless the program takes long"


class Prover(Protocol):
    """What the search asks of a worker session (ddelint.trace.session.Session)."""

    def trace(self, overlay: Overlay, *, first: bool = False) -> TraceResult: ...

    def compare(self, overlay: Overlay, decisions: tuple[Decision, ...], samples: int, quick: bool) -> Comparison: ...

    def compile(self, overlay: Overlay, targets: tuple[str, ...], samples: int, backend: str) -> Compilation: ...


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the search came to."""

    diagnostics: tuple[Diagnostic, ...]
    safe: History
    """The files after the safe fixes."""
    everything: History
    """The files after all fixes."""
    compilation: Compilation | None
    comparison: Comparison | None
    trace: TraceResult


class Search:
    """The search over one entry. `diagnose` turns a question on a current text into a diagnostic there."""

    def __init__(
        self,
        prover: Prover,
        originals: Mapping[str, SourceFile],
        targets: tuple[str, ...],
        *,
        samples: int,
        diagnose: Callable[[Question, SourceFile], Diagnostic],
        types: Mapping[str, Mapping[str, TypeFact]],
        wanted: Callable[[Diagnostic], bool] = lambda diagnostic: True,
        progress: Callable[[str], None] = lambda text: None,
        share: Callable[[int, int], None] = lambda done, total: None,
        start: History | None = None,
        out_of_time: Callable[[], bool] = lambda: False,
        graph_breaks: bool = False,
    ) -> None:
        self._prover = prover
        self._originals = originals
        self._targets = targets
        self._samples = samples
        self._diagnose = diagnose
        self._types = types
        self._wanted = wanted
        self._progress = progress
        self._share = share
        self._banned: dict[tuple[Key, str, str], str] = {}
        self._doubted: dict[tuple[Key, str, str], str] = {}
        """Candidates that a few inputs showed to be safe and all samples did not."""
        self._traces: dict[tuple[tuple[str, str], ...], TraceResult] = {}
        self._lowered: dict[tuple[tuple[str, str], ...], Compilation] = {}
        self._verified: dict[tuple[tuple[str, str], ...], Compilation] = {}
        self._alone: set[Key] = set()
        """Questions whose first candidate did not hold together with those of others."""
        self._unsettled: set[int] = set()
        """Steps of whose decisions a few inputs showed one side only: the comparison at the end settles these."""
        self._postponed: set[Key] = set()
        """Questions that wait until others are mended together, or not."""
        self._merely_unsafe: set[tuple[Key, str, str]] = set()
        """Candidates that the safe phase refused only because they are not safe: what is known costs no more time."""
        self._dear = False
        """Whether running the program takes so long that a wrong candidate should show on fewer inputs."""
        self._one_sided: set[str] = set()
        """Decisions of the original that all samples together showed from one side only."""
        self._out_of_time = out_of_time
        self._graph_breaks = graph_breaks
        self._comparisons: dict[tuple[object, ...], Comparison] = {}
        self._start = start if start is not None else History(originals)
        self._numbers = max((change.step for change in self._start.changes), default=0)
        load_moves()

    # ------------------------------------------------------------------ the whole search

    def run(self) -> Outcome:
        """Search to a fixpoint, in both phases; restart without a fix that the final run refutes."""
        first = self._trace(self._start)
        if first.failure is not None:
            return Outcome((), self._start, self._start, None, None, first)
        for _ in range(MOST_RESTARTS):
            safe = self._phase(State(self._start), allow_unsafe=False)
            everything = safe
            if safe.given_up or safe.tried:
                everything = self._phase(
                    State(safe.history, list(safe.steps), {}, dict(safe.others)), allow_unsafe=True
                )
            if everything.steps:
                self._progress("verifying everything together")
                self._share(len(everything.steps), len(everything.steps) + 1)
            everything = self._minimise(everything)
            if everything.given_up and self._graph_breaks:
                everything = self._with_graph_breaks(everything)
            kept = {step.number for step in everything.steps}
            for step in safe.steps:
                if step.number not in kept:
                    safe = dropped(safe, step)
            comparison = self._compare_whole(everything) if everything.steps else None
            guilty = self._guilty(everything, comparison)
            if guilty is not None:
                self._ban(guilty[0], guilty[1])
                continue
            doubtful = self._doubtful(safe)
            for step, reason in doubtful:
                self._doubted[(step.key, step.candidate.move, contents(step.candidate))] = reason
            if doubtful:
                continue
            if everything.steps and not everything.given_up:
                compilation = self._verify(everything.history)
                everything = replace(everything, compilation=compilation)
                guilty = self._guilty_in_compiled(everything, compilation)
                if guilty is not None and self._only_in_generated_code(everything, compilation):
                    compilation = replace(compilation, notes=(*compilation.notes, _GENERATED_CODE_DIFFERS))
                    everything = replace(everything, compilation=compilation)
                elif guilty is not None:
                    self._ban(guilty[0], guilty[1])
                    continue
            break
        else:
            safe = everything = self._phase(State(self._start), allow_unsafe=False, mend=False)
            comparison = None
        return Outcome(
            diagnostics(everything, safe, comparison),
            safe.history,
            everything.history,
            everything.compilation,
            comparison,
            first,
        )

    def _phase(self, state: State, *, allow_unsafe: bool, mend: bool = True) -> State:
        """Mend what is asked, all together or one after the other, until none is left that can be mended."""
        for _ in range(MOST_STEPS):
            if mend and not allow_unsafe and self._mend_together(state):
                continue
            question = self._next_question(state)
            if question is None:
                return state
            source = state.history.current(question.span.filename)
            key = key_of(state.history, question)
            diagnostic = self._diagnose(question, source)
            self._progress(f"{diagnostic.code} {question.expression}")
            self._tell_share(state)
            refused: list[Refusal] = []
            step_history = (
                self._mend(state, question, key, diagnostic, allow_unsafe, refused)
                if mend and self._wanted(diagnostic.relocated(state.history.home))
                else None
            )
            if step_history is None:
                home = replace(diagnostic.relocated(state.history.home), refused=tuple(refused))
                if question.kind == "other":
                    state.tried.add(key)
                    state.others[key] = home
                else:
                    state.given_up[key] = home
            else:
                state.others.pop(key, None)
                state.history, step = step_history
                state.steps.append(replace(step, diagnostic=replace(step.diagnostic, refused=tuple(refused))))
        return state

    def _tell_share(self, state: State) -> None:
        """How many questions are settled, of those that are known by now; the final verification counts as one."""
        done = len(state.steps) + len(state.given_up)
        asking = [q for q in self._trace(state.history).questions if q.kind != "other"]
        left = sum(key_of(state.history, q) not in state.given_up for q in asking if q.span.filename in self._originals)
        self._share(done, done + left + 1)

    def _next_question(self, state: State) -> Question | None:
        traced = self._trace(state.history)
        questions = [q for q in traced.questions if q.span.filename in self._originals]
        for question in questions:
            if question.kind == "other":
                self._note_other(state, question)
        asking = [q for q in questions if q.kind != "other"]
        for question in asking:
            if key_of(state.history, question) not in state.given_up:
                return question
        mendable = self._mendable(state, questions)
        if mendable is not None or asking or traced.failure is not None:
            return mendable
        return self._next_compiled_question(state)

    def _mendable(self, state: State, questions: Sequence[Question]) -> Question | None:
        """The first failure that is not data-dependent and that a move knows an answer to all the same."""
        for question in questions:
            if question.kind != "other" or key_of(state.history, question) in state.tried:
                continue
            diagnostic = self._diagnose(question, state.history.current(question.span.filename))
            if next(iter(self._candidates(state.history, question, diagnostic)), None) is not None:
                return question
        return None

    def _next_compiled_question(self, state: State) -> Question | None:
        """What only the front ends themselves ask, once the fake run asks nothing any more.

        What was rewritten is verified at once as it is to be in the end: a front end that asks does so before anything
        dear, and what goes through has been verified. What needs no fix is traced and lowered, but not compiled.
        """
        if state.steps:
            state.compilation = self._verify(state.history)
            return self._first_open(state, state.compilation)
        compilation = self._prover.compile(state.history.overlay, self._targets, QUICK_SAMPLES, "eager")
        state.compilation = compilation
        asked = self._first_open(state, compilation)
        if asked is not None or any(result.error for result in compilation.results):
            return asked
        return self._first_open(state, self._lower(state.history))

    def _first_open(self, state: State, compilation: Compilation) -> Question | None:
        """The first question of a compilation that has not been given up; what is no question is noted."""
        promised = any(step.candidate.claim is Claim.PROMISE for step in state.steps)
        for result in compilation.results:
            # an input that breaks a promise is refused: a guess that is wrong on it, too, does no harm
            harmless = promised and not any(map(tells, result.mismatches))
            for question in result.questions:
                if question.span.filename not in self._originals or (question.kind == "assumed" and harmless):
                    continue
                if question.kind in ("other", "assumed", "autocast"):
                    self._note_other(state, question)
                    if self._mendable(state, (question,)) is not None:
                        return question
                elif key_of(state.history, question) not in state.given_up:
                    return question
        return None

    def _verify(self, history: History) -> Compilation:
        """The program through every target, by Inductor, on all samples."""
        key = tuple(sorted(history.overlay.items()))
        if key not in self._verified:
            self._verified[key] = self._prover.compile(history.overlay, self._targets, self._samples, "inductor")
        return self._verified[key]

    def _lower(self, history: History) -> Compilation:
        """What Inductor asks where everything before it goes through; it can ask only about numbers of run time."""
        key = tuple(sorted(history.overlay.items()))
        if key not in self._lowered:
            wanted = "compile" in self._targets and self._trace(history).unbacked
            self._lowered[key] = (
                self._prover.compile(history.overlay, ("compile",), 0, LOWERING) if wanted else Compilation(results=())
            )
        return self._lowered[key]

    def _note_other(self, state: State, question: Question) -> None:
        key = key_of(state.history, question)
        diagnostic = self._diagnose(question, state.history.current(question.span.filename))
        state.others.setdefault(key, diagnostic.relocated(state.history.home))

    # ------------------------------------------------------------------ all questions of a trace

    def _mend_together(self, state: State) -> bool:
        """Mend what is asked now by the first candidate of each question, at once; False where that is no use.

        The program that is judged is thus the one that is kept, and a file takes as many rounds as sites hide behind
        others, not as many as there are sites. What doesn't hold is tried in halves, and at last each on its own.
        """
        proposals = self._proposals(state)
        if len(proposals) < 2 and self._postponed:
            self._postponed.clear()
            proposals = self._proposals(state)
        if len(proposals) < 2 or self._out_of_time():
            return False
        self._progress(f"{len(proposals)} questions together")
        self._tell_share(state)
        guilty = self._try_together(state, proposals)
        if guilty is None:
            half = max(2, len(proposals) // 2)
            if len(proposals) == 2:
                self._alone.update(proposal.key for proposal in proposals)
            self._postponed.update(proposal.key for proposal in proposals[half:])
        elif guilty:
            self._alone.update(guilty)
        else:
            self._postponed.clear()
        return True

    def _proposals(self, state: State) -> list[Proposal]:
        """The first candidate that may be safe of each question, as far as they can stand in one text."""
        found: list[Proposal] = []
        for question in self._trace(state.history).questions:
            if question.kind == "other" or question.span.filename not in self._originals:
                continue
            key = key_of(state.history, question)
            if key in state.given_up or key in self._alone or key in self._postponed:
                continue
            diagnostic = self._diagnose(question, state.history.current(question.span.filename))
            if not self._wanted(diagnostic.relocated(state.history.home)):
                continue
            offered = self._candidates(state.history, question, diagnostic)
            candidate = next((one for one in offered if self._may_be_safe(key, one)), None)
            if candidate is None:
                self._alone.add(key)
                continue
            decisions = decisions_of(state.history, candidate, question)
            if any(decision.key in self._one_sided for decision in decisions):
                self._alone.add(key)
            elif fit_together([proposal.candidate for proposal in found], candidate, state.history.current):
                self._numbers += 1
                found.append(Proposal(self._numbers, key, question, diagnostic, candidate, decisions))
        return found

    def _may_be_safe(self, key: Key, candidate: Candidate) -> bool:
        known = (key, candidate.move, contents(candidate))
        never = candidate.claim is Claim.PROMISE or candidate.spreads or candidate.last_resort
        return not never and known not in self._banned and known not in self._doubted

    def _try_together(self, state: State, proposals: Sequence[Proposal]) -> set[Key] | None:
        """Apply all, retrace, compare; where all hold, they are the state's next steps.

        Gives the questions whose candidates don't hold; None where it isn't clear which these are.
        """
        history = state.history
        guilty = set()
        for proposal in proposals:
            try:
                history = self._apply(history, moved(proposal.candidate, state.history, history), proposal.number)
            except (engine.EngineError, SourceError, ValueError):
                guilty.add(proposal.key)
        if guilty:
            return guilty
        if self._trace(history).failure is not None:
            return None
        guilty = {p.key for p in proposals if self._still_asks(state, history, p.question, p.key, p.number)}
        if guilty:
            return guilty
        candidates = [proposal.candidate for proposal in proposals]
        claim = min((candidate.claim for candidate in candidates), key=_CLAIM_RANK.__getitem__)
        decisions = tuple(decision for proposal in proposals for decision in proposal.decisions)
        last = not any(q.kind != "other" for q in self._trace(history).questions)
        extent = Extent.ALL if last else Extent.FEW
        comparison, reason = self._agreement(state, history, candidates, decisions, claim, extent)
        if reason or verdict.doubt(comparison):
            return None
        for p in proposals:
            if any(verdict.unreached(comparison, p.decisions)):
                self._unsettled.add(p.number)
            sides = comparison.sides.get(p.decisions[0].key) if p.decisions else None
            home = p.diagnostic.relocated(state.history.home)
            state.others.pop(p.key, None)
            state.steps.append(Step(p.number, p.key, home, p.candidate, p.decisions, Applicability.SAFE, (), sides))
        state.history = history
        return guilty

    # ------------------------------------------------------------------ one question

    def _mend(
        self,
        state: State,
        question: Question,
        key: Key,
        diagnostic: Diagnostic,
        allow_unsafe: bool,
        refused: list[Refusal],
    ) -> tuple[History, Step] | None:
        seen: set[tuple[object, ...]] = set()
        candidates = self._candidates(state.history, question, diagnostic)
        if allow_unsafe and last_resort.wanted(question, diagnostic):
            candidates = chain(candidates, self._last_resort(state.history, question, diagnostic, refused))
        second_best: tuple[History, Step] | None = None
        for candidate in candidates:
            if second_best is not None and (candidate.claim is Claim.PROMISE or candidate.last_resort):
                return second_best
            known = allow_unsafe and (key, candidate.move, contents(candidate)) in self._merely_unsafe
            if not known and self._out_of_time():
                refused.append(Refusal(candidate.move, candidate.message, last_resort.TIME_IS_OVER))
                if allow_unsafe and self._merely_unsafe:
                    continue
                return second_best
            if candidate.edits in seen:
                continue
            seen.add(candidate.edits)
            reason = self._banned.get((key, candidate.move, contents(candidate)))
            kept = None
            if reason is None:
                kept, reason = self._try(state, question, key, diagnostic, candidate, allow_unsafe)
            if kept is not None and not flaws(kept[1]):
                return kept
            if kept is not None and (second_best is None or flaws(kept[1]) < flaws(second_best[1])):
                second_best = kept
            if reason:
                refused.append(Refusal(candidate.move, candidate.message, reason))
        return second_best

    def _candidates(self, history: History, question: Question, diagnostic: Diagnostic) -> Iterator[Candidate]:
        """The candidates of every move that the rule lists: by claim, then in the rule's order."""
        context = self._context(history, question, diagnostic)
        if context is None:
            return
        found = [candidate for name in rule(diagnostic.code).moves for candidate in _proposed(name, context)]
        yield from sorted(found, key=lambda candidate: (_CLAIM_RANK[candidate.claim], not candidate.preferred))

    def _last_resort(
        self, history: History, question: Question, diagnostic: Diagnostic, refused: list[Refusal]
    ) -> Iterator[Candidate]:
        """What takes the region out of the program, once everything else was refused.

        Where nothing around the question can be (a helper on NumPy's arrays), what calls it may be.
        """
        context = self._context(history, question, diagnostic)
        if context is not None:
            yield from last_resort.candidates(context, refused)
        callers = [f.span for f in question.frames if f.inside and f.span.filename in self._originals]
        for span in reversed(callers):
            if not span.overlaps(question.span):
                context = self._context(history, replace(question, span=span, types={}), diagnostic)
                if context is not None:
                    yield from last_resort.candidates(context, refused)

    def _context(self, history: History, question: Question, diagnostic: Diagnostic) -> Context | None:
        source = history.current(question.span.filename)
        site = locate(source, question.span)
        if site is None:
            return None
        function = site.function.name if site.function is not None else ""
        return Context(
            site=site,
            diagnostic=diagnostic,
            kind=question.kind,
            types={**self._eager_types(history, source.filename, function), **question.types},
            read=history.current,
            detail=question.detail,
            operator=question.operator,
            fake=question.fake,
        )

    def _eager_types(self, history: History, filename: str, function: str) -> Mapping[str, TypeFact]:
        for key, types in self._types.items():
            name, _, qualified = key.partition("::")
            if name == filename and qualified.rpartition(".")[2] == function:
                return {moved_row(text, lambda row: history.row(filename, row)): fact for text, fact in types.items()}
        return {}

    def _try(
        self,
        state: State,
        question: Question,
        key: Key,
        diagnostic: Diagnostic,
        candidate: Candidate,
        allow_unsafe: bool,
    ) -> tuple[tuple[History, Step] | None, str]:
        """Apply, retrace, compare. Gives the new history and step, or None and the reason."""
        if candidate.claim is Claim.PROMISE and not allow_unsafe:
            return None, "needs a promise (--unsafe-fixes)"
        self._numbers += 1
        number = self._numbers
        try:
            history = self._apply(state.history, candidate, number)
            if candidate.last_resort:
                history = self._with_fake_kernels(history, number)
        except (engine.EngineError, SourceError, ValueError) as error:
            return None, f"cannot be applied: {error}"
        open_reason = self._still_asks(state, history, question, key, number)
        if open_reason:
            return None, open_reason
        decisions = decisions_of(state.history, candidate, question)
        # behind a side that eager alone takes, a check may stop what eager never brings to it
        behind_a_shortcut = diagnostic.code == VALIDATION and any(map(is_unsafe_path, state.steps))
        extent = Extent.FEW_THEN_ALL if behind_a_shortcut else Extent.BOTH_SIDES
        comparison, refuted = self._agreement(state, history, [candidate], decisions, candidate.claim, extent)
        if refuted:
            return None, refuted
        reasons = doubts(comparison, candidate, decisions, state)
        doubted = self._doubted.get((key, candidate.move, contents(candidate)))
        reasons += [doubted] if doubted and doubted not in reasons else []
        applicability = Applicability.UNSAFE if reasons else Applicability.SAFE
        if reasons and not allow_unsafe:
            self._merely_unsafe.add((key, candidate.move, contents(candidate)))
            return None, f"not safe: {'; '.join(reasons)}"
        home = diagnostic.relocated(state.history.home)
        sides = comparison.sides.get(decisions[0].key) if decisions else None
        raises = diagnostic.code == VALIDATION and verdict.narrows(comparison)
        step = Step(number, key, home, candidate, decisions, applicability, tuple(reasons), sides, raises)
        return (history, step), ""

    def _agreement(
        self,
        state: State,
        history: History,
        added: Sequence[Candidate],
        decisions: tuple[Decision, ...],
        claim: Claim,
        extent: Extent,
    ) -> tuple[Comparison, str]:
        """The original against the program with new candidates, and what refutes them."""
        new, earlier = decisions, tuple(decision for step in state.steps for decision in step.decisions)
        decisions = earlier + new
        candidates = [*added, *(step.candidate for step in state.steps)]

        def judged(comparison: Comparison) -> Comparison:
            counting = self._judged(candidates, comparison)
            waiting = verdict.before_later_checks(counting)
            return waiting if waiting is not counting and self._still_validates(history) else counting

        at_once = extent is Extent.ALL and not self._dear
        for samples in (self._samples,) if at_once else (PROBES, QUICK_SAMPLES) if self._dear else (QUICK_SAMPLES,):
            comparison = judged(self._compare(history, decisions, samples, quick=not at_once))
            if comparison.failure is not None:
                return comparison, f"could not be run: {comparison.failure.message}"
            refuted = verdict.refutation(comparison, claim)
            if refuted:
                return comparison, refuted
        self._dear = comparison.seconds > DEAR_SECONDS and not at_once
        affordable = int(QUICK_SAMPLES * FULL_SECONDS / max(comparison.seconds, 0.1))
        unreached = {decision.key for decision, _ in verdict.unreached(comparison, new)}
        one_sided = extent is Extent.BOTH_SIDES and unreached - self._one_sided
        if extent is Extent.FEW_THEN_ALL or one_sided:
            # a few inputs did not show both sides: try more of them before calling the fix unsafe
            if affordable > QUICK_SAMPLES:
                samples = min(self._samples, affordable)
                comparison = judged(self._compare(history, decisions, samples, quick=False))
            refuted = verdict.refutation(comparison, claim)
            self._one_sided.update(decision.key for decision, _ in verdict.unreached(comparison, new))
        return comparison, refuted

    def _apply(self, history: History, candidate: Candidate, number: int) -> History:
        changed = history.add(candidate.edits, number)
        filename = candidate.edits[0].span.filename
        imports = engine.import_edits(changed.current(filename), candidate.imports)
        if imports:
            changed = changed.add(imports, number)
        for name in {edit.span.filename for edit in candidate.edits}:
            _ = changed.current(name).tree
        return changed

    def _with_fake_kernels(self, history: History, number: int) -> History:
        """The history with a fake kernel for each operator that step `number` made and that the tracer missed."""
        for question in self._trace(history).questions:
            if question.fake and question.span.filename in self._originals:
                diagnostic = self._diagnose(question, history.current(question.span.filename))
                kernel = next(self._candidates(history, question, diagnostic), None)
                if kernel is not None:
                    return self._apply(history, kernel, number)
        return history

    def _still_asks(self, state: State, history: History, question: Question, key: Key, number: int) -> str:
        """Why the candidate does not clear the question; empty where it does."""
        traced = self._trace(history)
        if traced.failure is not None:
            return f"could not be traced: {traced.failure.message}"
        asking = [q for q in traced.questions if q.kind != "other" and q.span.filename in self._originals]
        before = [q for q in self._trace(state.history).questions if q.kind != "other"]
        known = [key_of(state.history, q) for q in before if q.span.filename in self._originals]
        now = [key_of(history, q) for q in asking]
        if question.kind == "other" and any(key_of(history, q) == key for q in traced.questions if q.kind == "other"):
            return f"tracing still stops here: {question.detail}"
        if key in now:
            return f"the compiler still asks `{question.expression}`"
        touched = history.touched(number)
        for new, new_key in zip(asking, now):
            if new_key not in known and new.kind == "fake":
                return f"the fake kernel disagrees with the real one: {new.detail}"
            if new_key not in known and any(span.contains(new.span) for span in touched):
                return f"the rewritten code asks `{new.expression}`"
        if question.kind not in ("other",) and "export" not in question.asks and not question.joint and not asking:
            if "inductor" in question.asks:
                compilation = self._lower(history)
            else:
                compilation = self._prover.compile(history.overlay, question.asks, 0, "eager")
            for result in compilation.results:
                for left in result.questions:
                    if left.span.filename in self._originals and key_of(history, left) == key:
                        return f"{result.target} still asks `{question.expression}`"
                    if any(span.contains(left.span) for span in touched):
                        return f"{result.target} does not take the rewritten code: {left.detail or left.expression}"
        return ""

    # ------------------------------------------------------------------ out of the graph

    def _with_graph_breaks(self, state: State) -> State:
        """The state in which what nothing mends leaves the graph; `state` itself where that does not help, either."""
        broken = replace(state, steps=list(state.steps), given_up=dict(state.given_up))
        for key, home in state.given_up.items():
            for question in self._trace(broken.history).questions:
                if question.span.filename in self._originals and key_of(broken.history, question) == key:
                    self._break_graph(broken, question, key, home)
        compilation = self._prover.compile(broken.history.overlay, self._targets, QUICK_SAMPLES, "eager")
        passed = compilation.failure is None and all(r.ok and not r.mismatches for r in compilation.results)
        return broken if passed and not broken.given_up else state

    def _break_graph(self, state: State, question: Question, key: Key, home: Diagnostic) -> None:
        """Take the region of one question out of the graph, where what is left agrees with the original in eager."""
        diagnostic = self._diagnose(question, state.history.current(question.span.filename))
        context = self._context(state.history, question, diagnostic)
        refused: list[Refusal] = list(home.refused)
        for candidate in last_resort.graph_breaks(context, refused) if context is not None else ():
            self._numbers += 1
            try:
                history = self._apply(state.history, candidate, self._numbers)
            except (engine.EngineError, SourceError, ValueError) as error:
                refused.append(Refusal(candidate.move, candidate.message, f"cannot be applied: {error}"))
                continue
            comparison = self._compare(history, (), QUICK_SAMPLES, quick=True)
            reason = verdict.refutation(comparison, candidate.claim)
            if reason or comparison.failure is not None:
                refused.append(Refusal(candidate.move, candidate.message, reason or "could not be run"))
                continue
            told = replace(home, refused=tuple(refused))
            reasons = ("torch.compile breaks the graph here",)
            unsafe = Applicability.UNSAFE
            state.steps.append(Step(self._numbers, key, told, candidate, (), unsafe, reasons, None))
            state.history = history
            del state.given_up[key]
            return

    # ------------------------------------------------------------------ the end

    def _minimise(self, state: State) -> State:
        """Take back each fix alone; what nobody misses goes."""
        if len(state.steps) < 2 or state.given_up or self._out_of_time():
            return state
        for step in list(state.steps):
            history = state.history.without(step.number)
            if history is None:
                continue
            if self._asks_anything(history):
                continue
            compilation = self._prover.compile(history.overlay, self._targets, QUICK_SAMPLES, "eager")
            if compilation.failure is None and all(r.ok for r in compilation.results):
                self._progress(f"not needed: {step.candidate.message}")
                state = dropped(state, step)
        return state

    def _guilty(self, state: State, comparison: Comparison | None) -> tuple[Step, str] | None:
        """The step that makes an eager result differ, where one does."""
        if comparison is None or not state.steps:
            return None
        strictest = min((step.candidate.claim for step in state.steps), key=lambda claim: -_CLAIM_RANK[claim])
        reason = verdict.refutation(comparison, strictest)
        if not reason:
            return None
        for step in reversed(state.steps):
            history = state.history.without(step.number)
            if history is None:
                continue
            rest = State(history, [s for s in state.steps if s is not step])
            if not verdict.refutation(self._compare_whole(rest), strictest):
                return step, reason
        return state.steps[-1], reason

    def _doubtful(self, safe: State) -> list[tuple[Step, str]]:
        """The safe steps that all samples show to be less than safe, where the few that they were tried on did not."""
        if not safe.steps:
            return []
        comparison = self._compare_whole(safe)
        one_sided = [
            (step, unseen(decision, side, safe))
            for step in safe.steps
            if step.number in self._unsettled
            for decision, side in verdict.unreached(comparison, step.decisions)
        ]
        if one_sided:
            self._one_sided.update(decision.key for step, _ in one_sided for decision in step.decisions)
            return one_sided
        reason = verdict.doubt(comparison)
        if not reason:
            return []
        for step in reversed(safe.steps):
            history = safe.history.without(step.number)
            rest = [s for s in safe.steps if s is not step]
            if history is not None and (not rest or not verdict.doubt(self._compare_whole(State(history, rest)))):
                return [(step, reason)]
        return [(safe.steps[-1], reason)]

    def _guilty_in_compiled(self, state: State, compilation: Compilation) -> tuple[Step, str] | None:
        """Where compiled code differs from eager, the fix that most likely chose the wrong path."""
        spreads = any(step.candidate.spreads for step in state.steps)
        mismatches = [m for result in compilation.results for m in result.mismatches if tells(m)]
        mismatches = [m for m in mismatches if not spreads or m.declared or not verdict.is_not_finite(m)]
        # a backward that cannot be compiled is a finding of its own; one with other gradients is a wrong fix
        mismatches += [m for m in compilation.mismatches if m.aspect != "backward"]
        if not mismatches or not state.steps:
            return None
        order = (Claim.GENERAL_PATH, Claim.RESTRUCTURED, Claim.PROMISE)
        for claim in order:
            for step in reversed(state.steps):
                if step.candidate.claim is claim and not (
                    claim is Claim.PROMISE and all("raise" in m.aspect or m.aspect == "exception" for m in mismatches)
                ):
                    return step, verdict.described(mismatches[0])
        return None

    def _only_in_generated_code(self, state: State, compilation: Compilation) -> bool:
        """Whether the graphs are right where eager's own kernels run them: then no fix is to blame for the difference.

        A choice between values that lie as close together as rounding (a router's top experts) may fall either way.
        """
        wrong = [result.target for result in compilation.results if any(tells(m) for m in result.mismatches)]
        if any(target != "compile" for target in wrong):
            return False
        again = self._prover.compile(state.history.overlay, ("compile",), self._samples, "eager")
        passed = all(r.ok and not any(map(tells, r.mismatches)) for r in again.results)
        return passed and not any(map(tells, again.mismatches))

    def _ban(self, step: Step, reason: str) -> None:
        self._banned[(step.key, step.candidate.move, contents(step.candidate))] = reason

    def _compare_whole(self, state: State) -> Comparison:
        """The program of a state on all samples."""
        decisions = tuple(decision for step in state.steps for decision in step.decisions)
        comparison = self._compare(state.history, decisions, self._samples, quick=False)
        return self._judged([step.candidate for step in state.steps], comparison)

    def _judged(self, candidates: Sequence[Candidate], comparison: Comparison) -> Comparison:
        """What counts of a comparison for these candidates together."""
        return verdict.on_finite_inputs(comparison) if any(c.spreads for c in candidates) else comparison

    def _still_validates(self, history: History) -> bool:
        """Whether a check of the program's own is still asked about."""
        return any(
            self._diagnose(question, history.current(question.span.filename)).code == VALIDATION
            for question in self._trace(history).questions
            if question.span.filename in self._originals
        )

    def _compare(self, history: History, decisions: tuple[Decision, ...], samples: int, *, quick: bool) -> Comparison:
        unique = tuple(dict.fromkeys(decisions))
        overlay = history.overlay
        key = (tuple(sorted(overlay.items())), frozenset(unique), samples, quick)
        if key not in self._comparisons:
            self._comparisons[key] = self._prover.compare(overlay, unique, samples, quick)
        return self._comparisons[key]

    def _trace(self, history: History) -> TraceResult:
        key = tuple(sorted(history.overlay.items()))
        if key not in self._traces:
            self._traces[key] = self._prover.trace(history.overlay)
        return self._traces[key]

    def _asks_anything(self, history: History) -> bool:
        """Whether a program asks, or cannot be traced; its first question is enough to know."""
        key = tuple(sorted(history.overlay.items()))
        traced = self._traces.get(key) or self._prover.trace(history.overlay, first=True)
        if not traced.questions:
            self._traces[key] = traced
        if not any(q.span.filename in self._originals for q in traced.questions):
            traced = self._trace(history)
        asking = (q for q in traced.questions if q.kind != "other" and q.span.filename in self._originals)
        return traced.failure is not None or any(asking)


def _proposed(name: str, context: Context) -> list[Candidate]:
    """What a move offers. A move that trips over code of a kind that nobody thought of must not end the search."""
    try:
        return list(MOVES[name](context)) if name in MOVES else []
    except Exception as error:
        if os.environ.get("DDELINT_DEBUG"):
            raise
        warnings.warn(f"the move {name} failed: {type(error).__name__}: {error}", stacklevel=2)
        return []
