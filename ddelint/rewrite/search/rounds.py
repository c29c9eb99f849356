"""Propose, retrace, verify, keep or try the next, until nothing asks any more.

The search fixes what a trace asks, traces again and takes the next, since a site often shows only after an earlier one
is fixed. It runs in two phases: first with safe fixes alone (what `--fix` writes), then going on with unsafe ones
(`--unsafe-fixes`). Once nothing asks each fix is taken back alone, and what proves unneeded goes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count

from ddelint.nouns.diagnostics import Applicability, Claim, Diagnostic, Fix, Span
from ddelint.nouns.protocol import Comparison, Compilation, TraceResult
from ddelint.rewrite.search import last_resort, verdict
from ddelint.rewrite.search.asking import Asking
from ddelint.rewrite.search.comparisons import Wanted
from ddelint.rewrite.search.graph_breaks import with_graph_breaks
from ddelint.rewrite.search.history import History, fix_edits
from ddelint.rewrite.search.in_the_way import InTheWay
from ddelint.rewrite.search.judging import Judging, counts_decide, fails_whatever_is_given
from ddelint.rewrite.search.last_resort import with_refused_regions
from ddelint.rewrite.search.needed import Needed
from ddelint.rewrite.search.phases import NOBODY, Listener, Phase
from ddelint.rewrite.search.reporting import GENERATED_CODE_DIFFERS, diagnostics, fix_of
from ddelint.rewrite.search.steps import State, Step, dropped, going_on, known_as, ordinary, reworded, without
from ddelint.rewrite.search.taken_out import as_it_was
from ddelint.rewrite.search.trying import Trying
from ddelint.rewrite.writing.edits import minimal_edits
from ddelint.rewrite.writing.tidying import tidied

MOST_RESTARTS = 6
_LAST_RESORT = 0.3
"""Share of the time that is kept for taking regions out of the program, where nothing else has helped by then."""
_ALSO_UNSAFE = 0.2
"""Share of the time that is kept for candidates which the first phase, where only safe ones count, did not come to."""
_LEAST_VERIFIED = 0.25
"""Share of what verifying takes, by a guess, that is reserved for it in any case."""
_IN_OTHER_WORDS = "what it writes is asked all the same"
ENDLESS = 1e9
"""Seconds that no search needs."""


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
    open_fixes: Mapping[tuple[Span, str], Fix] = field(default_factory=dict)
    """Fixes for what stays once the safe ones are written, by original place and rule; edits are of the text then."""


class Search:
    """The search over one entry."""

    def __init__(
        self,
        asking: Asking,
        *,
        wanted: Callable[[Diagnostic], bool] = lambda diagnostic: True,
        hears: Listener = NOBODY,
        start: History | None = None,
        seconds_left: Callable[[], float] = lambda: ENDLESS,
        reserved: Callable[[float], float] = lambda verified: 0.0,
        graph_breaks: bool = False,
    ) -> None:
        self._asking = asking
        self._judging = Judging(asking)
        self.start = start if start is not None else History(asking.originals)
        last = max((change.step for change in self.start.changes), default=0)
        self._trying = Trying(asking, self._judging, last)
        self._wanted = wanted
        self._hears = hears
        self._left = seconds_left
        self._reserved = reserved
        self._verified = 1.0
        """How much of the verification there is time reserved for."""
        self._graph_breaks = graph_breaks
        self._kept_back = 0.0
        """Seconds that are kept for the last resort."""
        self._only_needed = Needed(asking, self._judging, self._seconds_left, hears.progress)
        self._in_the_way = InTheWay(asking, self._judging, self._trying)
        self._phase = Phase(asking, self._judging, self._trying, self._only_needed, wanted, hears, self._seconds_left)

    def run(self) -> Outcome:
        """Search to a fixpoint, in both phases; go on without a fix that the final run refutes."""
        first = self._asking.trace(self.start)
        if first.failure is not None:
            return Outcome((), self.start, self.start, None, None, first)
        kept, kept_unsafe = State(self.start), None
        complete: tuple[State, State, Comparison | None] | None = None
        for attempt in count():
            if kept_unsafe is None:
                safe, everything = self._both_phases(kept, attempt)
                if self._borrows(everything, attempt):
                    kept = without(safe, ())
                    continue
            else:
                safe, everything = kept, self._phase.run(kept_unsafe, allow_unsafe=True, fixing=False)
            whole = safe
            safe, everything = self._needed(safe, everything)
            comparison = self._judging.compare_whole(everything) if everything.steps else None
            failure = comparison.failure if comparison is not None else None
            if failure is not None and failure.kind == "timeout":
                if complete is not None:  # what an earlier start has proved stays as it was
                    safe, everything, comparison = complete
                else:
                    safe, everything = self._unproved(everything, failure.message)
                break
            wrong = self._refuted(safe, everything, comparison)
            if not wrong:
                everything, wrong = self._compiled(everything)
                wrong = wrong or self._doubted(safe, everything)
            late = self._seconds_left() <= 0 or attempt + 1 >= MOST_RESTARTS
            late = late or fails_whatever_is_given(everything.compilation)
            late = late or self._is_for_its_counts(safe, everything, wrong)
            if wrong and late and (relabelled := self._called_unsafe(safe, everything, wrong)) is not None:
                safe, everything = relabelled
                everything, wrong = self._compiled(everything)
            if not wrong and self._has_more_to_do(everything, attempt):
                # what was known when time was kept back for the end: by now it is known what that takes
                complete = safe, everything, comparison
                kept, kept_unsafe = without(safe, ()), None
                continue
            if not wrong:
                break
            # what else was proved stays: another start would go through the same questions again
            kept, kept_unsafe = start_without(wrong, safe, whole), without(everything, wrong) if late else None
        safe, everything = self._as_far_as_it_was_run(safe, everything)
        return self._outcome(first, safe, everything, comparison)

    def _seconds_left(self) -> float:
        """For trying rewrites: what is reserved for the last resort and for the end aside."""
        return self._left() - self._reserved(self._verified) - self._kept_back

    def _has_more_to_do(self, everything: State, attempt: int) -> bool:
        """Whether a finding, a question's or another, was not tried to the end, and there is time for it after all."""
        waiting = any(map(last_resort.ran_out_of_time, (*everything.given_up.values(), *everything.others.values())))
        if not waiting or attempt >= MOST_RESTARTS:
            return False
        if self._seconds_left() <= 0:  # all of it has been run that can be: what is left is left for trying
            self._verified = 0.0
        return self._seconds_left() > 0

    def _borrows(self, everything: State, attempt: int) -> bool:
        """Whether time that was reserved for verifying is used for a finding that was not tried to the end.

        A program that still asks is not verified, so that all of what was reserved would be left over.
        """
        waiting = any(last_resort.ran_out_of_time(finding) for finding in everything.given_up.values())
        has_time = self._seconds_left() > 0
        if has_time or not waiting or attempt >= MOST_RESTARTS or self._verified <= _LEAST_VERIFIED:
            return False
        self._verified /= 2
        return self._seconds_left() > 0

    def _unproved(self, everything: State, reason: str) -> tuple[State, State]:
        """Where all samples cannot be run any more nothing is safe that only a few of them have shown to be."""
        steps = [
            replace(
                step, applicability=Applicability.UNSAFE, reasons=(*step.reasons, f"not run on all inputs: {reason}")
            )
            for step in everything.steps
        ]
        return State(self.start), replace(everything, steps=steps)

    def _as_far_as_it_was_run(self, safe: State, everything: State) -> tuple[State, State]:
        """Only what is proved is safe where time ran out before the programs were run in all ways."""
        reason = verdict.not_run(self._judging.compare_whole(safe)) if safe.steps else ""
        if not reason:
            return safe, everything
        rest = without(safe, [step for step in safe.steps if not step.candidate.proof])
        kept = {step.number for step in rest.steps}
        steps = [
            replace(step, applicability=Applicability.UNSAFE, reasons=(*step.reasons, reason))
            if step.applicability is Applicability.SAFE and step.number not in kept
            else step
            for step in everything.steps
        ]
        return replace(safe, history=rest.history, steps=rest.steps), replace(everything, steps=steps)

    def findings(self) -> Outcome:
        """What is asked, and no rewrite tried."""
        first = self._asking.trace(self.start)
        if first.failure is not None:
            return Outcome((), self.start, self.start, None, None, first)
        state = self._phase.run(State(self.start), allow_unsafe=False, fixing=False)
        return self._outcome(first, state, state, None)

    def _both_phases(self, kept: State, attempt: int) -> tuple[State, State]:
        """With safe fixes alone, and going on with unsafe ones."""
        fixing, may_begin_anew = attempt < MOST_RESTARTS, attempt + 1 < MOST_RESTARTS
        left = max(0.0, self._seconds_left()) if fixing else 0.0
        self._kept_back = (_LAST_RESORT + _ALSO_UNSAFE) * left
        safe = self._phase.run(kept, allow_unsafe=False, fixing=fixing, may_begin_anew=may_begin_anew)
        if fixing:
            safe = self._held_by_all_samples(self._with_nothing_in_the_way(safe, allow_unsafe=False))
        if fixing and (no_better := reworded(safe)):
            for step in no_better:
                self._trying.ban(step, _IN_OTHER_WORDS)
            safe = self._phase.run(without(safe, no_better), allow_unsafe=False)
        self._kept_back = _LAST_RESORT * left
        if not fixing or not (safe.given_up or safe.tried or last_resort.unsupported(safe.others)):
            self._kept_back = 0.0
            return safe, safe
        everything = self._phase.run(going_on(safe), allow_unsafe=True)
        everything = self._with_nothing_in_the_way(everything, allow_unsafe=True)
        gone = [step for step in safe.steps if self._trying.ban_on(step.key, step.candidate)]
        if gone:
            safe = replace(without(safe, gone), others=safe.others, tried=safe.tried)
        return safe, self._outlined(everything)

    def _with_nothing_in_the_way(self, state: State, *, allow_unsafe: bool) -> State:
        """The fixes without those that keep others from being found, and what is found in their place."""
        for _ in range(MOST_RESTARTS):
            if self._seconds_left() <= 0 or not state.given_up:
                break
            step = self._in_the_way.of(state)
            if step is None:
                break
            cleared = self._phase.run(without(state, [step]), allow_unsafe=allow_unsafe)
            if len(cleared.given_up) >= len(state.given_up):  # what was freed fails elsewhere, or this has no other fix
                self._trying.allow(step)
                break
            state = cleared
        return state

    def _held_by_all_samples(self, safe: State) -> State:
        """The safe fixes that all samples bear out, before anything is built upon them.

        Where nothing is left to fix, that comes next anyway.
        """
        for _ in range(MOST_RESTARTS):
            if not (safe.given_up and safe.steps) or self._seconds_left() <= 0:
                break
            comparison = self._judging.compare_whole(safe)
            wrong = self._refuted(safe, safe, comparison) if comparison.failure is None else []
            if not wrong:
                break
            safe = self._phase.run(without(safe, wrong), allow_unsafe=False)
        return safe

    def _needed(self, safe: State, everything: State) -> tuple[State, State]:
        """Without the fixes that nothing needs any more."""
        if everything.steps:
            self._hears.progress("verifying everything together")
            self._hears.share(len(everything.steps), len(everything.steps) + 1)
        everything = self._only_needed.of(everything)
        if everything.given_up and self._graph_breaks:
            everything = with_graph_breaks(everything, self._asking, self._trying)
        needed = {step.number for step in everything.steps}
        for step in safe.steps:
            if step.number not in needed:
                safe = dropped(safe, step)
        return with_all_that_is_safe(safe, everything), everything

    def _outlined(self, state: State) -> State:
        """What is left taken out of the program, where that makes a program that can be exported or compiled."""
        self._kept_back = 0.0
        self._phase.hopeless = state.given_up | last_resort.unsupported(state.others)
        if not self._phase.hopeless or self._seconds_left() <= 0:
            self._phase.hopeless = {}
            return last_resort.with_untried_regions(state, self._wanted)
        begun = as_it_was(state, state.given_up.values())
        is_as_it_was = len(begun.steps) < len(state.steps)
        outlined, gains = self._taken_out(begun)
        if is_as_it_was and not gains and self._seconds_left() > 0:
            outlined, gains = self._taken_out(going_on(state))
        self._phase.hopeless = {}
        if gains:
            return outlined
        kept = ordinary(outlined)
        if len(kept.steps) > len(state.steps) and self._asking.trace(kept.history).failure is None:
            # what was found behind a region is no worse for the region not being written
            state = replace(state, history=kept.history, steps=kept.steps, compilation=None)
        return with_refused_regions(state, outlined)

    def _taken_out(self, state: State) -> tuple[State, bool]:
        """A state with regions taken out of its program, and whether that can be exported or compiled for it."""
        before = {step.number for step in state.steps}
        state = self._phase.run(state, allow_unsafe=True)
        is_more = any(step.number not in before for step in state.steps)  # others may not be needed beside them
        return state, is_more and self._asking.goes_through(state)

    def _refuted(self, safe: State, everything: State, comparison: Comparison | None) -> list[Step]:
        """The steps that all samples speak against, which are not tried again, or not called safe again."""
        guilty = self._judging.guilty(everything, comparison)
        if guilty is not None:
            self._trying.ban(*guilty)
            return [guilty[0]]
        doubtful = self._judging.doubtful(safe)
        for step, reason in doubtful:
            self._trying.doubted[known_as(step.key, step.candidate)] = reason
        return [step for step, _ in doubtful]

    def _called_unsafe(self, safe: State, everything: State, doubted: Sequence[Step]) -> tuple[State, State] | None:
        """Where there is no other start: the same fixes, the doubted ones unsafe. None where one is wrong."""
        reasons = {}
        for step in doubted:
            reason = self._trying.doubted.get(known_as(step.key, step.candidate))
            shorter = dropped(safe, step)
            if reason is None or shorter is safe:
                return None
            safe, reasons[step.number] = shorter, reason
        steps = [
            replace(step, applicability=Applicability.UNSAFE, reasons=(*step.reasons, reasons[step.number]))
            if step.number in reasons
            else step
            for step in everything.steps
        ]
        return safe, replace(everything, steps=steps)

    def _doubted(self, safe: State, everything: State) -> list[Step]:
        """The safe fix that is not called safe again for what is compiled of the program; all of them where that parts
        with eager for what it counts in Python, as it would with any."""
        doubt = None if everything.given_up else self._judging.doubtful_in_compiled(safe, everything)
        if doubt is None:
            return []
        step, reason = doubt
        doubted = safe.steps[::-1] if counts_decide(reason, safe, everything) else [step]
        for one in doubted:
            self._trying.doubted[known_as(one.key, one.candidate)] = reason
        return doubted

    def _is_for_its_counts(self, safe: State, everything: State, wrong: Sequence[Step]) -> bool:
        """Whether all that is doubted is for what the program counts in Python: so would be whatever else is tried."""
        reasons = [self._trying.doubted.get(known_as(step.key, step.candidate), "") for step in wrong]
        return bool(wrong) and all(counts_decide(reason, safe, everything) for reason in reasons)

    def _compiled(self, state: State) -> tuple[State, list[Step]]:
        """The state with its verification; and the fix that this refutes, which is not tried again."""
        if not state.steps or state.given_up:
            return state, []
        compilation = self._asking.verify(state.history)
        guilty = self._judging.guilty_in_compiled(state, compilation)
        if guilty is not None and self._judging.only_in_generated_code(state, compilation):
            compilation = replace(compilation, notes=(*compilation.notes, GENERATED_CODE_DIFFERS))
        elif guilty is not None:
            self._trying.ban(*guilty)
            return state, [guilty[0]]
        return replace(state, compilation=compilation), []

    def _outcome(self, first: TraceResult, safe: State, everything: State, comparison: Comparison | None) -> Outcome:
        """What came of it; texts in which fixes stand side by side are tidied, and verified as they are then."""
        number = self._trying.next_number()
        tidy_safe = self._tidied(safe, number)
        tidy = tidy_safe if everything is safe else self._tidied(everything, number)
        if tidy is not everything.history and not everything.given_up and everything.steps:
            everything = replace(everything, compilation=self._asking.verify(tidy))
        self._asking.forget()
        return Outcome(
            diagnostics(everything, safe, comparison),
            tidy_safe,
            tidy,
            everything.compilation,
            comparison,
            first,
            self._open_fixes(safe, everything, tidy_safe),
        )

    def _tidied(self, state: State, number: int) -> History:
        """The texts of a state with neighbouring fixes merged, where that was run and changes nothing."""
        history = state.history
        if self._left() <= 0:
            return history
        for filename in history.overlay:
            source = history.current(filename)
            text = tidied(source, history.original(filename).text)
            history = history.add(minimal_edits(source, text), number)
        if history.overlay == state.history.overlay:
            return state.history
        wanted = Wanted(history, state.decisions, self._asking.samples, quick=False)
        if state.compilation is not None:
            self._asking.comparisons.expect(wanted)
            self._asking.expect_verified(history)
        alike = self._asking.comparisons.of(wanted)
        return history if alike.failure is None and not verdict.refutation(alike, Claim.EQUIVALENT) else state.history

    def _open_fixes(self, safe: State, everything: State, written: History) -> dict[tuple[Span, str], Fix]:
        """The fixes that are not among the safe ones, for the texts that those have made: by place and rule."""
        changes = everything.history.changes
        if changes[: len(safe.history.changes)] != safe.history.changes:
            return {}
        base = {name: safe.history.current(name) for name in self._asking.originals}
        later = History(base, changes[len(safe.history.changes) :])
        known = {step.number for step in safe.steps}
        found = {}
        for step in everything.steps:
            if step.number not in known:
                edits = fix_edits(later, step.number, step.candidate.imports)
                moved = tuple(replace(edit, span=written.moved(edit.span, safe.history)) for edit in edits)
                found[step.diagnostic.span, step.diagnostic.code] = fix_of(step, moved, is_safe=False)
        return found


def start_without(wrong: Sequence[Step], safe: State, whole: State) -> State:
    """What to begin with again; `whole` has fixes, too, that were not needed beside the wrong ones."""
    return max((without(state, wrong) for state in (safe, whole)), key=lambda state: len(state.steps))


def with_all_that_is_safe(safe: State, everything: State) -> State:
    """The safe fixes, and those as good that were found when unsafe ones were allowed, up to the first of these."""
    alone = everything
    labels = [step.applicability for step in everything.steps]
    first = next((number for number, label in enumerate(labels) if label is not Applicability.SAFE), None)
    for step in reversed(everything.steps[first:] if first is not None else ()):
        shorter = dropped(alone, step)
        if shorter is alone:
            return safe
        alone = shorter
    if alone.given_up or len(alone.steps) <= len(safe.steps):
        return safe
    return alone
