"""Whether rewritten programs agree with the original, on few inputs or all, and which fix is to blame where not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum

from ddelint.nouns.diagnostics import Claim
from ddelint.nouns.protocol import COUNTED, UNFINISHED, Comparison, Compilation, Decision, Mismatch
from ddelint.rewrite.candidate import Candidate
from ddelint.rewrite.reading.knowledge import knowledge
from ddelint.rewrite.search import verdict
from ddelint.rewrite.search.asking import QUICK_SAMPLES, SLOW_SECONDS, Asking
from ddelint.rewrite.search.comparisons import Wanted
from ddelint.rewrite.search.history import History
from ddelint.rewrite.search.last_resort import failure_of, unsupported
from ddelint.rewrite.search.offering import CLAIM_RANK
from ddelint.rewrite.search.reporting import unseen
from ddelint.rewrite.search.steps import State, Step, without

PROBES = 2
"""Inputs on which a candidate for a program that takes long is tried first: most wrong ones show at once."""
_TELLING = 3
"""Inputs that have spoken against others on which a candidate is tried first."""
FULL_SECONDS = 30.0
"""What deciding may cost."""

_SUSPICION = (Claim.GENERAL_PATH, Claim.RESTRUCTURED, Claim.EQUIVALENT)
"""Whose fix is doubted first where compiled code does not do what eager does."""
_WITHOUT_FLAGS = "torch.compile needs `fullgraph=True`, or what captures reads, with it; where it may break the graph,"
_OTHERWISE = "torch.compile fails with it for another argument, mode or setting"
_REFUSES = "refuses inputs that eager takes"
_SEES_THE_FIRST_CALL = "what is traced sees the first call alone"
_BACKWARD = "the backward pass fails where it is compiled"


class Extent(Enum):
    """On how many inputs a candidate is judged."""

    FEW = "few"
    BOTH_SIDES = "few, and more where these show one side only"
    FEW_THEN_ALL = "few, then all that can be afforded"
    ALL = "at once all, as at the end, unless the program takes long"


class Judging:
    """Judges candidates and whole programs of one entry."""

    def __init__(self, asking: Asking) -> None:
        self._asking = asking
        self._is_slow = False
        """Whether running the program takes so long that a wrong candidate should show on fewer inputs."""
        self.unsettled: set[int] = set()
        """Steps of whose decisions a few inputs showed one side only: the comparison at the end settles these."""
        self.one_sided: dict[str, str] = {}
        """Decisions of the original that all samples together showed from one side only, and what is said of each."""
        self.said_another: set[str] = set()
        """What was said of fixes whose compiled program silently is another one (`verdict.is_another`)."""
        self._telling: list[Mismatch] = []
        """What spoke against whole programs on all samples, the last first: others may differ there, too."""

    def agreement(
        self,
        state: State,
        history: History,
        added: Sequence[Candidate],
        decisions: tuple[Decision, ...],
        claim: Claim,
        extent: Extent,
    ) -> tuple[Comparison, str]:
        """The original against the program with new candidates, and what refutes them."""
        new, decisions = decisions, state.decisions + decisions
        candidates = [*added, *(step.candidate for step in state.steps)]

        def judged(comparison: Comparison) -> Comparison:
            counting = self._judged(candidates, comparison)
            waiting = verdict.before_later_checks(counting)
            return waiting if waiting is not counting and self._asking.still_validates(history) else counting

        at_once = self._is_at_once(extent)
        for samples in self._looks(at_once):
            comparison = judged(self._asking.comparisons.of(Wanted(history, decisions, samples, quick=not at_once)))
            if comparison.failure is not None:
                return comparison, f"could not be run: {comparison.failure.message}"
            refuted = verdict.refutation(comparison, claim)
            if refuted:
                return comparison, refuted
        self._is_slow = comparison.seconds > SLOW_SECONDS and not at_once
        affordable = int(QUICK_SAMPLES * FULL_SECONDS / max(comparison.seconds, 0.1))
        unreached = {decision.key for decision, _ in verdict.unreached(comparison, new)}
        one_sided = extent is Extent.BOTH_SIDES and unreached - self.one_sided.keys()
        if extent is Extent.FEW_THEN_ALL or one_sided:
            # a few inputs did not show both sides: try more of them before calling the fix unsafe
            if affordable > QUICK_SAMPLES:
                samples = min(self._asking.samples, affordable)
                comparison = judged(self._asking.comparisons.of(Wanted(history, decisions, samples, quick=False)))
            refuted = verdict.refutation(comparison, claim)
            self._tells(verdict.refuting(comparison, claim) if refuted else verdict.doubting(comparison))
            self.one_sided |= {d.key: unseen(d, side, state) for d, side in verdict.unreached(comparison, new)}
        return comparison, refuted

    def first_look(
        self,
        state: State,
        history: History,
        added: Sequence[Candidate],
        decisions: tuple[Decision, ...],
        claim: Claim,
        shown: Mismatch | None = None,
    ) -> tuple[Comparison, str]:
        """The first comparison of `agreement`, and what refutes the candidates whatever the program asks.

        Only on the input that has `shown` something, where one has.
        """
        samples = self._looks(at_once=False)[0]
        comparison = self._asking.comparisons.of(Wanted(history, state.decisions + decisions, samples, True, shown))
        candidates = [*added, *(step.candidate for step in state.steps)]
        counting = verdict.before_later_checks(self._judged(candidates, comparison))
        return counting, "" if counting.failure is not None else verdict.refutation(counting, claim)

    def told_before(
        self, state: State, history: History, added: Candidate, decisions: tuple[Decision, ...], *, allow_unsafe: bool
    ) -> tuple[Comparison | None, str, str]:
        """What the very inputs that have spoken against others say of a candidate: the comparison that does, why it is
        refuted, and what keeps it from being safe, which is not looked for where unsafe ones are allowed."""
        decisions, candidates = state.decisions + decisions, [added, *(step.candidate for step in state.steps)]
        for shown in self._telling[:_TELLING]:
            wanted = Wanted(history, decisions, self._asking.samples, False, shown)
            comparison = self._judged(candidates, self._asking.comparisons.of(wanted))
            if comparison.failure is not None:
                continue
            comparison = verdict.before_later_checks(comparison)
            of_its_kind = verdict.of_its_kind(comparison, shown)
            refuted = verdict.refutation(of_its_kind, added.claim)
            told = "" if refuted or allow_unsafe else verdict.doubt(comparison)
            if refuted or told:
                return of_its_kind if refuted else comparison, refuted, told
        return None, "", ""

    def guilty_before(self, state: State, shown: Mismatch | None) -> tuple[Step, str] | None:
        """The step of a state that makes it differ by itself on the input that has spoken against a candidate for it:
        the few inputs on which the step was judged did not show it."""
        if shown is None or not shown.base or not state.steps:
            return None
        comparison = verdict.before_later_checks(self.compare_whole(state, shown))
        comparison = verdict.of_its_kind(comparison, shown)
        return self.guilty(state, comparison) if comparison.failure is None else None

    def expect_agreement(self, state: State, history: History, decisions: tuple[Decision, ...], extent: Extent) -> None:
        """That `agreement` will be asked for the program: its first comparison is begun."""
        at_once = self._is_at_once(extent)
        samples = self._looks(at_once)[0]
        self._asking.comparisons.expect(Wanted(history, state.decisions + decisions, samples, quick=not at_once))

    def _is_at_once(self, extent: Extent) -> bool:
        return extent is Extent.ALL and not self._is_slow

    def _looks(self, at_once: bool) -> tuple[int, ...]:
        """On how many inputs a program is compared first, and then."""
        if at_once:
            return (self._asking.samples,)
        return (PROBES, QUICK_SAMPLES) if self._is_slow else (QUICK_SAMPLES,)

    def expect_whole(self, *states: State, shown: Mismatch | None = None, as_they_are: bool = False) -> None:
        """That programs will be compared as `compare_whole` does."""
        for state in states:
            self._asking.comparisons.expect(self._whole(state, shown, as_they_are))

    def verified(self, state: State, until: Callable[[Compilation], bool]) -> Compilation:
        """The program of a state through every target, or up to one that says enough (`until`); that it holds, and all
        samples agree, is expected."""
        self._asking.expect_verified(state.history)
        self.expect_whole(state)
        return self._asking.verify(state.history, until)

    def compare_whole(self, state: State, shown: Mismatch | None = None, *, as_they_are: bool = False) -> Comparison:
        """The program of a state on all samples; or only on the input that has `shown` something, and what is made of
        it, or on that `as_they_are`."""
        comparison = self._asking.comparisons.of(self._whole(state, shown, as_they_are))
        return self._judged([step.candidate for step in state.steps], comparison)

    def _whole(self, state: State, shown: Mismatch | None, as_they_are: bool) -> Wanted:
        return Wanted(state.history, state.decisions, self._asking.samples, as_they_are, shown)

    def _responsible(self, state: State, shown: Mismatch | None, speaks: Callable[[Comparison], str]) -> Step:
        """The step without which nothing `speaks` against the program; else, where others have causes of their own, one
        without which this difference is gone; the last one where they only differ together.

        `shown` is what does: the input set that shows it is enough to tell, where it shows it alone.
        """
        told, of_one = shown, None
        shown = shown if shown is not None and shown.base else None
        aspect = shown.aspect if shown is not None else ""

        def is_shown(found: Comparison) -> bool:
            return bool(speaks(found)) and (not aspect or any(m.aspect == aspect for m in found.mismatches))

        as_they_are = shown is not None and shown.sample == shown.base
        as_they_are = as_they_are and is_shown(self.compare_whole(state, shown, as_they_are=True))
        if shown is not None and not as_they_are and not is_shown(self.compare_whole(state, shown)):
            shown = None
        rests = _without_each(state)
        self.expect_whole(*(rest for _, rest in rests if rest.steps), shown=shown, as_they_are=as_they_are)
        for step, rest in rests:
            comparison = self.compare_whole(rest, shown, as_they_are=as_they_are) if rest.steps else None
            if comparison is None or (comparison.failure is None and not is_shown(comparison)):
                return step
            if of_one is None and told is not None and comparison.failure is None:
                of_one = None if any(_is_same(told, m) for m in comparison.mismatches) else step
        return of_one or state.steps[-1]

    def _judged(self, candidates: Sequence[Candidate], comparison: Comparison) -> Comparison:
        """What counts of a comparison for these candidates together."""
        return verdict.on_finite_inputs(comparison) if any(c.spreads for c in candidates) else comparison

    def guilty(self, state: State, comparison: Comparison | None) -> tuple[Step, str] | None:
        """The step that makes an eager result differ, where one does."""
        if comparison is None or not state.steps:
            return None
        strictest = _strictest(state)
        reason = verdict.refutation(comparison, strictest)
        if not reason:
            return None
        shown = verdict.refuting(comparison, strictest)
        self._tells(shown)
        return self._responsible(state, shown, lambda found: verdict.refutation(found, strictest)), reason

    def is_wrong(self, state: State, *, late: bool = False) -> bool:
        """Whether all samples speak against the program of a state, where that is known much sooner than compiled.

        `late`: there may be no time for both, and what differs from the original is no fix, compiled or not.
        """
        known_first = late or self._asking.takes_long(state.history)
        return known_first and bool(verdict.refutation(self.compare_whole(state), _strictest(state)))

    def doubtful(self, safe: State) -> list[tuple[Step, str]]:
        """The safe steps that all samples show to be less than safe, where the few that they were tried on did not."""
        if not safe.steps:
            return []
        comparison = self.compare_whole(safe)
        one_sided = [
            (step, decision.key, unseen(decision, side, safe))
            for step, decision, side in self._seen_from_one_side(safe, comparison)
        ]
        self.one_sided |= {key: reason for _, key, reason in one_sided}
        found = {step.number: (step, reason) for step, _, reason in one_sided}
        return self._all_doubtful(safe, list(found.values()), verdict.all_doubting(comparison))

    def is_doubted(self, safe: State) -> bool:
        """Whether all samples show a safe fix to be less than safe, which is known sooner than what is compiled.

        That is begun beside it, and ended where the program is not to stay.
        """
        self.expect_whole(safe)
        self._asking.expect_verified(safe.history)
        comparison = self.compare_whole(safe)
        if not (verdict.doubting(comparison) or self._seen_from_one_side(safe, comparison)):
            return False
        self._asking.forget()
        return True

    def _seen_from_one_side(self, safe: State, comparison: Comparison) -> list[tuple[Step, Decision, str]]:
        """The decisions of unsettled steps that all samples took one side of, with the other side."""
        unsettled = [step for step in safe.steps if step.number in self.unsettled]
        return [(step, *pair) for step in unsettled for pair in verdict.unreached(comparison, step.decisions)]

    def _all_doubtful(
        self, safe: State, found: list[tuple[Step, str]], doubting: Sequence[Mismatch]
    ) -> list[tuple[Step, str]]:
        """Whoever is `found` already; who answers for the first mismatch; and for each that is shown still once those
        who did are gone.

        To leave the others for later would take another comparison on all samples for each.
        """
        safe = without(safe, [step for step, _ in found])
        told = []
        for shown in doubting:
            if found and not (safe.steps and self._is_still_shown(safe, shown)):
                continue
            step = self._responsible(safe, shown, verdict.doubt)
            found.append((step, verdict.doubt_of(shown)))
            if verdict.is_another(shown):
                self.said_another.add(verdict.doubt_of(shown))
            told.append(shown)
            safe = without(safe, [step])
        for shown in reversed(told):
            self._tells(shown)
        return found

    def _is_still_shown(self, state: State, shown: Mismatch) -> bool:
        """Whether the one run that has shown something does so for the program of another state."""
        if not shown.base:
            return False
        comparison = self.compare_whole(state, shown)
        return comparison.failure is None and any(
            (m.aspect, m.where) == (shown.aspect, shown.where) for m in verdict.all_doubting(comparison)
        )

    def _tells(self, shown: Mismatch | None) -> None:
        if shown is not None and shown.base and shown not in self._telling:
            self._telling.insert(0, shown)

    def guilty_in_compiled(self, state: State, compilation: Compilation) -> tuple[Step, str] | None:
        """Where compiled code differs from eager, the fix that most likely chose the wrong path."""
        spreads = any(step.candidate.spreads for step in state.steps)
        mismatches = [m for result in compilation.results for m in result.mismatches if m.speaks_against]
        mismatches = [m for m in mismatches if not spreads or m.declared or not m.is_not_finite]
        # a backward that cannot be compiled is a finding of its own; one with other gradients is a wrong fix
        mismatches += [m for m in compilation.mismatches if m.aspect != "backward"]
        if not mismatches or not state.steps:
            return None
        order = [Claim.GENERAL_PATH, Claim.RESTRUCTURED, Claim.PROMISE]
        if any(m.declared and not m.narrower for m in mismatches):
            order.append(Claim.EQUIVALENT)  # a word that eager takes for the same may be another one to the compiler
        for claim in order:
            for step in reversed(state.steps):
                if step.candidate.claim is claim and not (
                    claim is Claim.PROMISE and all("raise" in m.aspect or m.aspect == "exception" for m in mismatches)
                ):
                    return step, verdict.described(mismatches[0])
        return None

    def refusing_in_compiled(self, safe: State, everything: State) -> tuple[Step, str] | None:
        """A safe step to doubt where what is compiled refuses inputs that eager takes: declared ones as well, on which
        code of Inductor's may fail with an error of its own, for with graph breaks the original may have been compiled.

        A promise, or a check of the program's own that stops an input early, is known to do that, and is not safe.
        """
        known = any(
            step.candidate.claim is Claim.PROMISE or step.raises or any(_REFUSES in reason for reason in step.reasons)
            for step in everything.steps
        )
        suspects = _suspects(safe)
        if everything.compilation is None or known or not suspects:
            return None
        for result in everything.compilation.results:
            refused = [m for m in result.mismatches if m.is_refusal]
            if refused:
                left = f"{result.compared - result.agreed} of {result.compared}"
                return suspects[0], f"{result.target} {_REFUSES} ({left}): {verdict.described(refused[0])}"
        return None

    def doubtful_in_compiled(self, safe: State, everything: State) -> tuple[Step, str] | None:
        """A safe step to doubt for what is compiled of the program: it refuses inputs, fails, also in its gradients, or
        differs later on."""
        return (
            self.refusing_in_compiled(safe, everything)
            or _failing_in_compiled(safe, everything)
            or _failing_backward(safe, everything)
            or _parting_in_a_row(safe, everything)
            or _parting_in_a_row(safe, safe)
        )

    def only_in_generated_code(self, state: State, compilation: Compilation) -> bool:
        """Whether the graphs are right where eager's own kernels run them: then no fix is to blame for the difference.

        A choice between values that lie as close together as rounding (a router's top experts) may fall either way.
        """
        wrong = [result.target for result in compilation.results if any(m.speaks_against for m in result.mismatches)]
        if any(target != "compile" for target in wrong):
            return False
        again = self._asking.prover.compile(state.history.overlay, ("compile",), self._asking.samples, "eager")
        # inputs of ours that it refuses speak against no fix, here as above
        passed = all(not (r.error or r.asking or any(m.speaks_against for m in r.mismatches)) for r in again.results)
        return again.failure is None and passed and not any(m.speaks_against for m in again.mismatches)


def _strictest(state: State) -> Claim:
    return min((step.candidate.claim for step in state.steps), key=lambda claim: -CLAIM_RANK[claim])


def fails_whatever_is_given(compilation: Compilation | None) -> bool:
    """Whether one target takes the program and then raises on every input, where the others do what eager does.

    That is the target's own failure, which makes a fix unsafe; one that it takes may be worse for all others.
    """
    results = compilation.results if compilation is not None else ()
    failing = [r for r in results if r.compared and not r.agreed and any(m.is_refusal for m in r.mismatches)]
    return bool(failing) and any(r.ok for r in results) and all(r.ok or r in failing for r in results)


def counts_decide(reason: str, *run: State) -> bool:
    """Whether a fix is doubted because calls in a row part with eager, where what was `run` counts them in Python."""
    results = [result for state in run if state.compilation is not None for result in state.compilation.results]
    counts = any(question.kind == COUNTED for result in results for question in result.questions)
    return counts and reason.startswith(_SEES_THE_FIRST_CALL)


def _suspects(safe: State) -> list[Step]:
    """The safe steps, whoever is doubted first in front."""
    return [step for claim in _SUSPICION for step in reversed(safe.steps) if step.candidate.claim is claim]


def _failing_in_compiled(safe: State, everything: State) -> tuple[Step, str] | None:
    """Control flow that was handed to the compiler, where compiling fails for no question of the program's: with all
    fixes, or with the safe ones alone, for an unsafe one may hide that in an operator."""
    suspects = [step for step in safe.steps if step.candidate.move in knowledge().beyond.control_flow]
    if not suspects:
        return None
    for diagnostic in unsupported(safe.others).values():
        return suspects[-1], f"{diagnostic.asks[0]} fails with it: {failure_of(diagnostic)}"
    for result in everything.compilation.results if everything.compilation is not None else ():
        if result.error and not result.error.startswith(UNFINISHED):
            return suspects[-1], f"{result.target} fails with it: {result.error}"
        if result.as_installed:
            return suspects[-1], f"{_WITHOUT_FLAGS} it fails: {result.as_installed}"
        if result.otherwise:
            return suspects[-1], f"{_OTHERWISE}: {result.otherwise}"
    return None


def _failing_backward(safe: State, everything: State) -> tuple[Step, str] | None:
    """Where eager has gradients and what is compiled raises: with graph breaks the original may have been trained."""
    if everything.compilation is None or any(
        _BACKWARD in reason for step in everything.steps for reason in step.reasons
    ):
        return None
    suspects = _suspects(safe)
    failing = [m for m in everything.compilation.mismatches if m.aspect == "backward"]
    return (suspects[0], f"{_BACKWARD}: {failing[0].got}") if suspects and failing else None


def _parting_in_a_row(safe: State, run: State) -> tuple[Step, str] | None:
    """Where calls in a row part with eager: what was traced of the state that was `run` saw the first of them alone."""
    suspects = _suspects(safe)
    for result in run.compilation.results if run.compilation is not None and suspects else ():
        for mismatch in result.mismatches:
            if mismatch.in_a_row:
                return suspects[0], f"{_SEES_THE_FIRST_CALL}: {verdict.described(mismatch)}"
    return None


def _is_same(one: Mismatch, other: Mismatch) -> bool:
    """Whether two mismatches tell of one difference, whatever input shows it."""
    return all(getattr(one, part) == getattr(other, part) for part in ("where", "aspect", "expected", "got"))


def _without_each(state: State) -> list[tuple[Step, State]]:
    """Each step, the last first, that no later one rests on, and the state that never had it."""
    found = []
    for step in reversed(state.steps):
        history = state.history.without(step.number)
        if history is not None:
            found.append((step, State(history, [other for other in state.steps if other is not step])))
    return found
