"""The original against the rewritten program in eager, and the path that tracing picks against both."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter, process_time

from ddelint.protocol import Comparison, Decision, EntryFailure, Mismatch, SessionOptions
from ddelint.trace.entry import Entry
from ddelint.verify import guided, traced_path
from ddelint.verify.calls import Outcome, Raised, raised, run
from ddelint.verify.inputs import NOT_FINITE, REQUIRING_GRAD, Sample, other_modes, requiring_grad, variations
from ddelint.verify.limits import TooMuch, is_too_much, limited
from ddelint.verify.meeting import is_untouched, told
from ddelint.verify.reach import Rewinding
from ddelint.verify.recording import Recorder, recording
from ddelint.verify.sameness import (
    EXACT,
    REORDERED,
    SIGN_OF_ZERO,
    Constant,
    Container,
    Difference,
    Frozen,
    FrozenTensor,
    Noise,
    Tolerance,
    differences,
    is_finite,
)
from ddelint.verify.witness import Witness

QUICK = 12
"""Inputs of a quick comparison, unless the caller asks for fewer."""
_EXTRA = 64
"""More inputs than asked for, as long as a decision has shown only one side."""
_GUIDED = 96
"""Runs for finding an input that takes a side which no variation took."""
_ALWAYS_TWICE = 4
"""Inputs on which a program is called twice even though the first call changed nothing that can be seen."""
_MOST_MISMATCHES = 12
_NOT_FINITE, _MODES = 6, 4
"""Inputs with infinities and NaN through which gradients flow; and inputs that are run in other modes."""
_MEETINGS = 12
"""Inputs for each side that is skipped on which is looked at what the block leaves."""
_QUICK_SECONDS, _FULL_SECONDS = 10.0, 60.0
"""Time for running the original; the other runs take about as long each."""


@dataclass
class Reference:
    """The original on one input."""

    sample: Sample
    calls: list[Outcome]
    sides: Mapping[str, set[bool]] = field(default_factory=dict)
    traced: list[Outcome] | None = None
    """Along the path that tracing picks, where the original itself asks how it is run."""
    before: str = ""
    """The label of the input set that came before this one; the last call is made with it."""
    distances: Mapping[tuple[str, bool], float] = field(default_factory=dict)
    """(decision key, side) → how far the decision was from it, at the nearest."""
    base: str = ""
    """The label of the input set that this one was made from."""
    derive: Callable[[Sample], Sample] = lambda sample: sample
    """How."""
    twin: bool = False
    """Whether it is another one with gradients, and no input of its own."""
    witness: Witness | None = None
    """Tells how far rounding may move it, by its `number` among the references."""
    number: int = 0
    rerun: Callable[[Entry, Sample], list[Outcome] | None] = lambda entry, sample: None
    """Runs an entry as the original was run."""

    @property
    def first(self) -> Outcome:
        """The first call."""
        return self.calls[0]

    @property
    def tells(self) -> bool:
        """Whether there is something to compare: where torch itself raised, there isn't."""
        return _tells(self.first)


def compare(
    original: Entry,
    rewritten: Callable[[], Entry],
    decisions: tuple[Decision, ...],
    options: SessionOptions,
    samples: int,
    quick: bool,
) -> Comparison:
    """Run the original, then what `rewritten()` gives, on the same inputs, and tell the differences.

    `rewritten` is called once, after all runs of the original. `equal`: no difference on declared inputs, and none in
    results on ours where both returned. A difference in exceptions on inputs of our own making is only listed.
    What the programs raise is caught; what `rewritten` raises goes through.
    """
    started, busy = perf_counter(), process_time()
    rewinding = Rewinding(original)
    original = rewinding.entry
    count = max(1, min(samples, QUICK) if quick else samples)
    limit = min(_QUICK_SECONDS if quick else _FULL_SECONDS, options.timeout / 5)
    extra = 0 if quick or not decisions else _EXTRA
    with recording(decisions) as recorder, traced_path.watched() as consultation:
        runs = _Runs(original, decisions, options, recorder, consultation, until=started + limit)
        runs.vary(count, extra)
        if not quick:
            runs.guide()
        runs.differentiate()
        if not quick:
            runs.change_modes()
        skipped = [] if quick else list(runs.meet())
    references = runs.references
    stable, seeded = _is_stable(original, references)
    rewinding.back()
    with witnessed(original, references):
        program = Rewinding(rewritten()).entry
        samples_again = variations(program, count, options.seed, extra=extra)
        found = [*skipped, *_eager_mismatches(program, references, options, samples_again)]
    if not seeded:
        found = [mismatch for mismatch in found if mismatch.aspect != _RANDOM]
    mismatches = [mismatch for mismatch in found if mismatch.aspect != _RANDOM] or found
    if any(mismatch.aspect != _RANDOM for mismatch in found) and not stable:
        text = "the original does not give the same result twice for the same input and seed: nothing can be compared"
        return _failed(EntryFailure("raised", text), references, busy)
    return Comparison(
        samples=sum(not reference.twin for reference in references),
        declared=sum(reference.sample.declared for reference in references),
        equal=not any(_breaks(mismatch) for mismatch in found),
        sides=_count_sides(decisions, references),
        mismatches=tuple(_worst(mismatches)),
        seconds=process_time() - busy,
    )


@contextlib.contextmanager
def witnessed(original: Entry, references: Sequence[Reference]) -> Iterator[None]:
    """Within, the references know how far rounding may move them, whatever is loaded in the original's place."""
    witness = Witness(lambda number, change: references[number].rerun(*change(original, references[number].sample)))
    with witness.ready():
        for number, reference in enumerate(references):
            reference.witness, reference.number = witness, number
        yield


_RANDOM = "random state"


def _has_plain_floats(value: Frozen) -> bool:
    """Whether there is a floating-point tensor that doesn't require grad."""
    match value:
        case FrozenTensor(dtype=dtype, requires_grad=requires_grad):
            return bool(dtype.is_floating_point) and not requires_grad
        case Container(parts=parts):
            return any(map(_has_plain_floats, parts))
    return False


def _is_all_finite(outcome: Outcome) -> bool:
    """Whether results and gradients are finite: what is not among the inputs was left unread."""
    parts = (outcome.result, *(outcome.gradients or {}).values())
    return outcome.gradients is not None and all(map(is_finite, parts))


def _failed(failure: EntryFailure, references: Sequence[Reference], busy: float) -> Comparison:
    declared = sum(reference.sample.declared for reference in references)
    return Comparison(len(references), declared, False, failure=failure, seconds=process_time() - busy)


def _breaks(mismatch: Mismatch) -> bool:
    """Whether a mismatch means that results differ (and not only what is raised on inputs of our own making)."""
    if mismatch.narrower:  # on inputs, or in a mode, that nobody declared
        return False
    return mismatch.aspect not in (SIGN_OF_ZERO, SIDE_EFFECT, MEETING) and (
        mismatch.declared or mismatch.aspect not in ("exception", "message", "cost")
    )


def _worst(mismatches: Sequence[Mismatch]) -> list[Mismatch]:
    """A few of each kind, declared inputs first, eager before the traced path."""
    ranked = sorted(
        mismatches,
        key=lambda m: (
            m.aspect == _RANDOM,
            not m.declared,
            not _breaks(m),
            m.where != "eager",
            m.sample.endswith(NOT_FINITE),  # a candidate may answer for what it does to these
        ),
    )
    kept: list[Mismatch] = []
    counts: dict[Mismatch, int] = {}
    for mismatch in ranked:
        kind = replace(mismatch, sample="", expected="", got="")
        counts[kind] = counts.get(kind, 0) + 1
        if counts[kind] <= 2:
            kept.append(mismatch)
    return kept[:_MOST_MISMATCHES]


def _count_sides(decisions: Sequence[Decision], references: Sequence[Reference]) -> dict[str, tuple[int, int]]:
    telling = [r for r in references if not r.twin and r.tells]
    taken = {
        decision.key: [reference.sides.get(decision.key, set()) for reference in telling] for decision in decisions
    }
    return {key: (sum(True in s for s in sides), sum(False in s for s in sides)) for key, sides in taken.items()}


def _unreached(decisions: Sequence[Decision], references: Sequence[Reference]) -> bool:
    return any(not (true and false) for true, false in _count_sides(decisions, references).values())


def _tells(outcome: Outcome) -> bool:
    return outcome.error is None or outcome.error.deliberate


class _Runs:
    """The original on one input set after the other, and which sides it took."""

    def __init__(
        self,
        original: Entry,
        decisions: Sequence[Decision],
        options: SessionOptions,
        recorder: Recorder,
        consultation: traced_path.Consultation,
        until: float,
    ) -> None:
        self.references: list[Reference] = []
        self._original = original
        self._decisions = decisions
        self._options = options
        self._recorder = recorder
        self._consultation = consultation
        self._until = until

    def vary(self, count: int, extra: int) -> None:
        """Declared inputs and variations: `count`, and `extra` more as long as some side was not taken."""
        before: Sample | None = None
        for number, sample in enumerate(variations(self._original, count, self._options.seed, extra=extra)):
            if number >= count and not _unreached(self._decisions, self.references):
                return
            if self.references and self._is_over():
                return
            self._add(sample, before=before)
            before = sample

    def guide(self) -> None:
        """For each side that was not taken, inputs that come nearer and nearer to it."""
        for key, sides in _count_sides(self._decisions, self.references).items():
            for side, times in zip((True, False), sides):
                if times or self._is_over():
                    continue
                near = [r for r in self.references if r.tells and guided.is_far(r.distances.get((key, side)))]
                if not near:
                    continue
                nearest = min(near, key=lambda r: r.distances[key, side])
                self._climb(nearest, key, side)

    def _climb(self, nearest: Reference, key: str, side: bool) -> None:
        sample = nearest.sample

        def evaluate(moved: guided.Moved) -> float | None:
            if self._is_over():
                return None
            self._recorder.take()
            patience = _patience(self.references, self._options)
            calls = run_sample(self._original, moved(sample), twice=False, patience=patience)
            told = calls is not None and _tells(calls[0])
            return self._recorder.nearest().get((key, side)) if told else None

        ways = guided.ways(sample, self._original.parameters)
        moved = guided.Climb(nearest.distances[key, side], evaluate, _GUIDED).run(ways)
        if moved is not None:
            self._add(sample, moved, of=nearest)

    def differentiate(self) -> None:
        """One input set for each way that a decision went, run again with gradients flowing into it.

        Gradients differ on one side only, more often than not: a root of zero, a division of nothing.
        """
        chosen = [r for r in self._one_for_each_way() if _has_plain_floats(r.first.arguments)]
        chosen += [r for r in self.references if r.sample.label.endswith(NOT_FINITE) and r.first.returned][:_NOT_FINITE]
        for reference in chosen:
            if self._is_over():
                break
            if reference.sample.label == REQUIRING_GRAD:
                continue
            known = len(self.references)
            self._add(reference.sample, requiring_grad, of=reference, twin=True)
            if not is_finite(reference.first.arguments):
                # an inf or nan that the program reads: gradients behind it mean nothing
                self.references[known:] = [added for added in self.references[known:] if _is_all_finite(added.first)]
        if any(r.twin and r.first.gradient_error is not None for r in self.references):
            # nobody takes gradients of a program that has none on one of its sides (an operator without a backward)
            self.references[:] = [reference for reference in self.references if not reference.twin]

    def change_modes(self) -> None:
        """One input set for each way that a decision went, in the modes that nobody declared."""
        chosen = self._one_for_each_way()[:_MODES] or self.references[:1]
        for reference in [r for r in chosen if r.first.returned]:
            for mode in other_modes(self._original.build()):
                if not self._is_over():
                    self._add(reference.sample, mode, of=reference, twin=True)

    def _one_for_each_way(self) -> list[Reference]:
        """An input set for each set of sides that a decision took."""
        found: dict[tuple[str, frozenset[bool]], Reference] = {}
        for reference in self.references:
            usable = reference.first.returned and not reference.twin and is_finite(reference.first.arguments)
            for decision in self._decisions if usable and reference.sample.differentiable else ():
                sides = frozenset(reference.sides.get(decision.key, ()))
                if sides:
                    found.setdefault((decision.key, sides), reference)
        return list({reference.sample.label: reference for reference in found.values()}.values())

    def meet(self) -> Iterator[Mismatch]:
        """What the sides leave where they meet, on inputs that take the side which the compiled program skips."""
        for decision in self._decisions:
            block = self._recorder.blocks.get(decision.key)
            if block is None or decision.compiled is None:
                continue
            taking = [r for r in self.references if self._takes_other(r, decision)][:_MEETINGS]
            untouched = []
            for reference in taking:
                if self._is_over():
                    break
                as_it_is = self._left(reference, decision.key)
                with self._recorder.forced(decision.key, decision.compiled):
                    forced = self._left(reference, decision.key)
                if as_it_is is None or forced is None:
                    continue
                found = told(as_it_is, forced)
                if found is not None:
                    yield _met(reference, *found)
                untouched.append(is_untouched(as_it_is, forced))
            if decision.compiled in block.skips and untouched and all(untouched):
                yield _void(taking[0], len(untouched))

    def _takes_other(self, reference: Reference, decision: Decision) -> bool:
        sides = reference.sides.get(decision.key, set())
        return reference.first.returned and not reference.twin and (not decision.compiled) in sides

    def _left(self, reference: Reference, key: str) -> list[Mapping[str, Frozen]] | None:
        """What one run leaves at a decision's meeting places; None where it does not return."""
        self._recorder.meetings.take(key)
        patience = _patience(self.references, self._options)
        calls = run_sample(self._original, reference.sample, twice=False, patience=patience, once=True)
        left = self._recorder.meetings.take(key)
        self._recorder.take()
        return left if calls is not None and calls[0].returned else None

    def _is_over(self) -> bool:
        return perf_counter() > self._until

    def _add(
        self,
        given: Sample,
        derive: Callable[[Sample], Sample] = lambda sample: sample,
        *,
        before: Sample | None = None,
        of: Reference | None = None,
        twin: bool = False,
    ) -> None:
        """Run on what `derive` makes of an input set (of the one that is itself derived from another, `of`)."""
        sample = derive(given)
        self._recorder.take()
        self._consultation.take()
        patience = _patience(self.references, self._options)
        twice = len(self.references) < _ALWAYS_TWICE
        seen: list[tuple[Mapping[tuple[str, bool], float], Mapping[str, set[bool]]]] = []

        def note() -> None:
            seen.append((self._recorder.nearest(), self._recorder.take()))

        calls = run_sample(self._original, sample, twice=twice, patience=patience, before=before, between=note)
        if calls is None:
            return
        note()
        reference = Reference(sample, calls, before=before.label if before is not None else "", twin=twin)
        reference.rerun = lambda entry, moved: run_sample(
            entry, moved, twice=twice or calls[0].state_changed, patience=patience, before=before
        )
        reference.base = of.base if of is not None else given.label
        reference.derive = derive if of is None else lambda base: derive(of.derive(base))
        reference.distances, reference.sides = seen[0]
        if self._consultation.take() and reference.first.returned:
            with traced_path.assumed(self._options.targets):
                reference.traced = run_sample(self._original, sample, twice=twice, patience=patience, before=before)
            self._recorder.take()
        self.references.append(reference)


def _met(reference: Reference, name: str, how: str) -> Mismatch:
    expected, _, got = how.partition(", and ")
    label, declared = reference.sample.label, reference.sample.declared
    return Mismatch(
        label, declared, TRACED_PATH, MEETING, f"{name} {expected}", f"{got} from the side that is compiled"
    )


def _void(reference: Reference, count: int) -> Mismatch:
    inputs = "the one input that takes it" if count == 1 else f"{count} inputs that take it"
    return Mismatch(
        reference.sample.label,
        reference.sample.declared,
        TRACED_PATH,
        MEETING,
        "something that the block does",
        f"nothing, on {inputs}: no input shows what is skipped",
    )


# --------------------------------------------------------------------------------------------------------------- runs


@dataclass(frozen=True)
class Patience:
    """What a call on an input of our own making may take. Declared inputs may take what they take."""

    seconds: float
    memory: int


def _patience(references: Sequence[Reference], options: SessionOptions) -> Patience:
    longest = max((call.seconds for reference in references for call in reference.calls), default=0.0)
    return Patience(seconds=2.0 + 20.0 * longest, memory=options.memory // 4)


def run_sample(
    entry: Entry,
    sample: Sample,
    *,
    twice: bool,
    patience: Patience | None,
    before: Sample | None = None,
    between: Callable[[], None] = lambda: None,
    once: bool = False,
) -> list[Outcome] | None:
    """A fresh instance on fresh arguments, once or twice; a second time in any case where the first changed its state.

    Where it is called twice, it is called once more on the arguments of `before`: state that was taken from one input
    shows on another. `between` is called before that. `once`: a single time, whatever it changes.

    An entry that cannot be built or has no arguments for the sample gives one outcome with that exception. None: an
    input of our own making was more than `patience` allows, and says nothing.
    """
    if sample.declared or patience is None:
        return _run_sample(entry, sample, twice, before, between, once)
    try:
        with limited(patience.seconds * (3 if twice else 1), patience.memory):
            outcomes = _run_sample(entry, sample, twice, before, between, once)
    except (TooMuch, MemoryError):
        return None
    error = outcomes[-1].error
    return None if error is not None and is_too_much(error.kind, error.message) else outcomes


def _run_sample(
    entry: Entry, sample: Sample, twice: bool, before: Sample | None, between: Callable[[], None], once: bool
) -> list[Outcome]:
    try:
        program = sample.prepare(entry.build())
    except (Exception, SystemExit) as error:
        return [_not_run(raised(error))]
    outcomes: list[Outcome] = []
    for number, given in enumerate((sample, sample, *((before,) if before is not None else ()))):
        if number and (once or not (twice or outcomes[0].state_changed)):
            break
        if number == 2:
            between()
        try:
            arguments = given.make()
        except (Exception, SystemExit) as error:
            return [*outcomes, _not_run(raised(error))]
        gradients = sample.differentiable and given.differentiable
        outcomes.append(run(program, arguments, seed=number, gradients=gradients, surroundings=entry.surroundings))
        if not outcomes[-1].returned:
            break
    return outcomes


def _not_run(error: Raised) -> Outcome:
    nothing = Constant("NoneType", None)
    return Outcome(None, error, nothing, {}, frozenset(), 0, False, None, None, 0.0)


def _is_stable(original: Entry, references: Sequence[Reference]) -> tuple[bool, bool]:
    """Whether the original gives the same on the same input, and leaves the random generators in the same state.

    It was run, so a second run says so.
    """
    for reference in references:
        if reference.first.returned:
            again = run_sample(original, reference.sample, twice=False, patience=None)
            if again is None:
                return False, False
            same = not any(True for _ in outcome_differences(reference.first, again[0], EXACT))
            return same, reference.first.random == again[0].random
    return True, True


# -------------------------------------------------------------------------------------------------------- comparisons


def _eager_mismatches(
    program: Entry, references: Sequence[Reference], options: SessionOptions, samples: Iterator[Sample]
) -> Iterator[Mismatch]:
    wanted: dict[str, list[Reference]] = {}
    for reference in references:
        wanted.setdefault(reference.base, []).append(reference)
    known: dict[str, Sample] = {}
    patience = _patience(references, options)
    done = 0
    with traced_path.watched() as consultation:
        for given in samples:
            if not wanted:
                break
            known[given.label] = given
            for reference in wanted.pop(given.label, ()):
                sample = reference.derive(given)
                before = known.get(reference.before)
                consultation.take()
                twice = len(reference.calls) > 1 or done < _ALWAYS_TWICE
                outcomes = run_sample(program, sample, twice=twice, patience=patience, before=before)
                done += 1
                if outcomes is None:
                    yield _overdone(sample, "eager")
                    continue
                consulted = consultation.take()
                yield from mismatches(reference, outcomes, "eager")
                if consulted and outcomes[0].returned:
                    with traced_path.assumed(options.targets):
                        traced = run_sample(program, sample, twice=twice, patience=patience, before=before)
                    if traced is None:
                        yield _overdone(sample, TRACED_PATH)
                    else:
                        yield from _traced_path_mismatches(reference, traced)
    for reference in itertools.chain.from_iterable(wanted.values()):
        yield Mismatch(reference.sample.label, reference.sample.declared, "eager", "type", "this input", "another one")


def _overdone(sample: Sample, where: str) -> Mismatch:
    return Mismatch(sample.label, sample.declared, where, "cost", "a result", "too much time or memory", narrower=True)


def _traced_path_mismatches(reference: Reference, traced: Sequence[Outcome]) -> Iterator[Mismatch]:
    if reference.traced is not None and any(
        True for _ in mismatches(reference, reference.traced, TRACED_PATH, REORDERED)
    ):  # the program asks how it is run, and does something else there
        reference = replace(reference, calls=reference.traced)
    yield from mismatches(reference, traced, TRACED_PATH, REORDERED)


def mismatches(
    reference: Reference, outcomes: Sequence[Outcome], where: str, tolerance: Tolerance = EXACT
) -> Iterator[Mismatch]:
    """How the calls of another program differ from those of the original on the same input."""
    sample = reference.sample
    for number, (expected, got) in enumerate(zip(reference.calls, outcomes)):
        label = sample.label + ("", ", second call", f", then {reference.before}")[number]
        found = list(_call_mismatches(expected, got, where, tolerance, label, sample.declared))
        if reference.witness is not None and _is_numeric(found):
            for answers in reference.witness.moved(reference.number):
                moved = tuple((amount, calls[number]) for amount, calls in answers if number < len(calls))
                found = list(_call_mismatches(expected, got, where, tolerance, label, sample.declared, moved))
                if not _is_numeric(found):
                    break
            reference.witness.judged(wrong=_is_numeric(found))
        yield from (replace(mismatch, narrower=True) for mismatch in found) if sample.mode else found
        if any(mismatch.aspect != _RANDOM for mismatch in found):
            return


TRACED_PATH = "traced path"
SIDE_EFFECT = "side effect"
"""The aspect in which the path that tracing picks leaves other state than eager behind, where that is no tensor."""
MEETING = "meeting"
"""The aspect in which the sides of a decision differ where they meet, whatever comes of it later."""
_NUMERIC = ("value", "mutation", "gradient")
"""Aspects in which results may differ by rounding."""


def _is_numeric(found: Sequence[Mismatch]) -> bool:
    return any(mismatch.aspect in _NUMERIC for mismatch in found)


MovedCall = Sequence[tuple[float, Outcome]]
"""One call of `witness.Moved`."""


def _call_mismatches(
    expected: Outcome,
    got: Outcome,
    where: str,
    tolerance: Tolerance,
    label: str,
    declared: bool,
    moved: MovedCall = (),
) -> Iterator[Mismatch]:
    deliberate = expected.error is not None and expected.error.deliberate
    stopped = expected.error is None and got.error is not None and got.error.deliberate

    def mismatch(aspect: str, one: str, other: str, narrower: bool = False) -> Mismatch:
        return Mismatch(label, declared, where, aspect, one, other, narrower, deliberate, stopped)

    if expected.error is None and got.error is not None:
        yield mismatch("exception", "a result", str(got.error), narrower=not declared)
    elif expected.error is not None and got.error is None:
        if where == "eager" or declared:
            yield mismatch("exception", str(expected.error), "a result")
    elif expected.error is not None and got.error is not None:
        yield from _error_mismatches(expected.error, got.error, mismatch, where == "eager", declared)
    else:
        for found in outcome_differences(expected, got, tolerance, everything=where == "eager", moved=moved):
            if found.aspect == SIDE_EFFECT and where != TRACED_PATH:
                continue  # what runs while tracing leaves none behind, whatever was rewritten
            yield mismatch(found.aspect, found.expected, found.got)
        if where == "eager" and expected.random != got.random:
            yield mismatch(_RANDOM, "the generator's state after the original", "another one")


def _error_mismatches(
    expected: Raised, got: Raised, mismatch: Callable[..., Mismatch], eager: bool, declared: bool
) -> Iterator[Mismatch]:
    """Exception types must agree; what torch itself raises on inputs of our own making binds nobody."""
    if not eager or not (expected.deliberate or declared):
        return
    if expected.kind != got.kind:
        yield mismatch("exception", str(expected), str(got))
    elif expected.deliberate and expected.message != got.message:
        yield mismatch("message", expected.message[:160], got.message[:160])


def outcome_differences(
    expected: Outcome, got: Outcome, tolerance: Tolerance, *, everything: bool = True, moved: MovedCall = ()
) -> Iterator[Difference]:
    """Differences of two calls that returned: results first, then effects, then gradients.

    `everything`: what tracing need not keep counts, too (plain attributes, views, which results carry gradients).
    """
    if expected.result is None or got.result is None:
        return
    if not everything:
        tolerance = replace(tolerance, identity=False)
    yield from differences(expected.result, got.result, tolerance, noise=_noise(moved, lambda call: call.result))
    noise = _noise(moved, lambda call: call.arguments)
    for found in differences(expected.arguments, got.arguments, tolerance, noise=noise):
        yield Difference("mutation", f"arguments{found.place}", found.expected, found.got)
    yield from _effect_differences(expected.effects, got.effects, tolerance, everything, moved)
    if everything:
        for name in sorted(got.rebound - expected.rebound):
            yield Difference("mutation", name, f"self.{name} is the same tensor as before", "another one in its place")
    yield from gradient_differences(expected, got, tolerance, moved)


def _noise(moved: MovedCall, part: Callable[[Outcome], Frozen | None]) -> Noise:
    found = [(amount, part(call)) for amount, call in moved]
    return Noise(tuple((amount, value) for amount, value in found if value is not None))


def _effect_differences(
    expected: Mapping[str, Frozen], got: Mapping[str, Frozen], tolerance: Tolerance, everything: bool, moved: MovedCall
) -> Iterator[Difference]:
    for name in dict.fromkeys((*expected, *got)):
        one, other = expected.get(name), got.get(name)
        told = name if " " in name or name.startswith("self.") else f"self.{name}"
        aspect = "mutation" if everything or isinstance(one or other, FrozenTensor) else SIDE_EFFECT
        if one is None or other is None:
            changed, unchanged = f"{told} changed", f"{told} unchanged"
            yield Difference(aspect, name, *((unchanged, changed) if one is None else (changed, unchanged)))
            continue
        noise = _noise(moved, lambda call, name=name: call.effects.get(name))  # type: ignore[misc]
        for found in differences(one, other, tolerance, noise=noise):
            yield Difference(aspect, name, f"{told}: {found.expected}", f"{told}: {found.got}")


def gradient_differences(
    expected: Outcome, got: Outcome, tolerance: Tolerance, moved: MovedCall = ()
) -> Iterator[Difference]:
    """Where both were asked for gradients; one of nothing but zeros is as good as none."""
    if not (expected.differentiated and got.differentiated):
        return
    if expected.gradient_error is not None or got.gradient_error is not None:
        if expected.gradient_error is None and got.gradient_error is not None:
            yield Difference("backward", "", "gradients", str(got.gradient_error))
        return
    if expected.gradients is None and got.gradients is None:
        return
    tolerance = replace(tolerance, identity=False, signs=False)
    one, other = expected.gradients or {}, got.gradients or {}
    for name in dict.fromkeys((*one, *other)):
        first, second = one.get(name), other.get(name)
        if first is None or second is None:
            present = first if first is not None else second
            if not _is_zero(present):
                texts = (f"of {name}", f"none of {name}")
                yield Difference("gradient", name, *(texts if second is None else texts[::-1]))
            continue
        noise = _noise(moved, lambda call, name=name: (call.gradients or {}).get(name))  # type: ignore[misc]
        noise = replace(noise, kinks=True)
        for found in differences(first, second, tolerance, noise=noise):
            yield Difference("gradient", name, f"of {name}: {found.expected}", f"of {name}: {found.got}")


def _is_zero(value: Frozen | None) -> bool:
    return isinstance(value, FrozenTensor) and value.values is not None and not bool(value.values.count_nonzero())
