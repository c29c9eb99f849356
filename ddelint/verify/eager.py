"""The original against the rewritten program in eager, and the path that tracing picks against both."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from time import process_time

from ddelint.nouns.protocol import Comparison, Decision, EntryFailure, Mismatch, SessionOptions
from ddelint.trace.entry import Entry
from ddelint.verify import traced_path, work
from ddelint.verify.calls import Outcome
from ddelint.verify.flags import FLAG
from ddelint.verify.inputs import variations
from ddelint.verify.mismatches import (
    DRAWS,
    RANDOM,
    TOLD,
    TRACED_PATH,
    mismatches,
    outcome_differences,
    with_what_varies_noted,
)
from ddelint.verify.modes import TRACED_ANEW
from ddelint.verify.original import ALWAYS_TWICE, Runs, count_sides
from ddelint.verify.partings import Parting
from ddelint.verify.reach import Rewinding
from ddelint.verify.recording import recording
from ddelint.verify.references import (
    OF_REWRITTEN,
    Reference,
    is_informative,
    is_refusal,
    patience_of,
    refusals,
    witnessed,
)
from ddelint.verify.remembered import Remembered
from ddelint.verify.running import run_sample
from ddelint.verify.sameness import EXACT, REORDERED
from ddelint.verify.samples import Sample
from ddelint.verify.shortening import few_of_each_kind
from ddelint.verify.stopwatch import Stopwatch
from ddelint.verify.work import Work

QUICK = 12
"""Inputs of a quick comparison, unless the caller asks for fewer."""
_EXTRA = 64
"""More inputs than asked for, as long as a decision has shown only one side."""
_MOST_MISMATCHES = 12
_RESULTS = ("value", "dtype", "shape", "type")
_DECLARED = (*_RESULTS, "exception", "gradient", "mutation")
"""What settles it where it differs on a declared input."""
_QUICK_SECONDS, _FULL_SECONDS = 10.0, 60.0
"""Time for running the original; the other runs take about as long each."""
_VARIED, _OWED = 0.6, 0.5
"""Shares of it: for the inputs as they are; and, once it is over, for what nothing was run of yet."""


def compare(
    original: Entry,
    rewritten: Callable[[], Entry],
    decisions: tuple[Decision, ...],
    options: SessionOptions,
    samples: int,
    quick: bool,
    only: frozenset[str] = frozenset(),
    exactly: str = "",
) -> Comparison:
    """Run the original, then what `rewritten()` gives, on the same inputs, and list the differences.

    `rewritten` is called once, after all runs of the original. `only`: on the input sets of these labels and what is
    made of them, if there are any; `exactly`: of that, the run that is labelled so. `equal`: no difference on declared
    inputs, and none in results on ours where both returned. A difference in exceptions on inputs of our own making is
    only listed. What the programs raise is caught; what `rewritten` raises goes through.
    """
    rewinding = Rewinding(original)

    def make() -> Originals:
        if exactly:
            alone = _run(rewinding, decisions, options, samples, quick=quick, only=only, exactly=exactly)
            if alone.runs.have_run(exactly):
                return alone.on(only, exactly)
        return _run(rewinding, decisions, options, samples, quick=quick, only=only)

    with witnessed(rewinding.entry, make, _references_of) as originals:
        return _held_against(originals, rewritten, decisions, some=bool(only))


@dataclass(frozen=True)
class Originals:
    """The original's runs, which one program after the other may be held against, each in a process of its own."""

    original: Entry
    runs: Runs
    met: list[tuple[Decision, Parting | Mismatch]]
    """Where the sides of a decision meet: what a rewrite may part there, and what no input shows."""
    options: SessionOptions
    count: int
    extra: int
    quick: bool
    stable: bool
    """Whether the original gives the same on the same input..."""
    seeded: bool
    """... and leaves the random generators in the same state."""
    worked: list[tuple[Reference, Work | None]]
    """What it did, as operators and elements."""
    seconds: float
    """What all of this took."""
    remembered: Remembered
    """What the programs that were held against it have asked its witness."""

    def on(self, bases: Collection[str], exactly: str) -> Originals:
        """With no other runs than those on input sets that are made of these; of them the one that is labelled so."""

        def is_meant(reference: Reference) -> bool:
            labels = [reference.label_of(call) for call in range(len(reference.calls))]
            return reference.base in bases and (not exactly or exactly in labels)

        runs = copy.copy(self.runs)
        runs.references = [reference for reference in self.runs.references if is_meant(reference)]
        met = [(d, m) for d, m in self.met if _mismatch_of(m).base in bases and exactly in ("", _mismatch_of(m).sample)]
        return replace(self, runs=runs, met=met, worked=[])


def _mismatch_of(found: Parting | Mismatch) -> Mismatch:
    return found if isinstance(found, Mismatch) else found.mismatch


def run_original(
    original: Entry, decisions: tuple[Decision, ...], options: SessionOptions, samples: int, quick: bool
) -> Originals:
    """Run the original as `compare` does, with these decisions watched, once for all programs."""
    return _run(Rewinding(original), decisions, options, samples, quick=quick, only=frozenset())


def hold_against(
    originals: Originals,
    rewritten: Callable[[], Entry],
    decisions: tuple[Decision, ...],
    only: frozenset[str] = frozenset(),
    exactly: str = "",
) -> Comparison:
    """As `compare`, with an original that was run before, in this process or the one that it is a fork of.

    `decisions`: some of those that were watched. `exactly`: of what is made of the input sets `only` the run that is
    labelled so.
    """
    some = originals.on(only, exactly) if only else originals
    some = some if some.runs.references else originals
    with witnessed(originals.original, lambda: some, _references_of, originals.remembered) as made:
        return _held_against(made, rewritten, decisions, some=some is not originals)


def _references_of(originals: Originals) -> Sequence[Reference]:
    return originals.runs.references


def _held_against(
    originals: Originals, rewritten: Callable[[], Entry], decisions: tuple[Decision, ...], *, some: bool
) -> Comparison:
    """`some`: not on all inputs."""
    busy = process_time()
    runs, references = originals.runs, originals.runs.references
    options, count, quick = originals.options, originals.count, originals.quick
    if references and not some and not any(reference.first.returned for reference in references):
        text = f"the original returns on no input, it raises {references[0].first.error}: nothing can be compared"
        return _failed(EntryFailure("raised", text), references, originals.seconds)
    program = Rewinding(rewritten()).entry
    samples_again = variations(program, count, options.seed, extra=originals.extra)
    skipped = [found for decision, found in originals.met if decision in decisions]
    partings = [found for found in skipped if isinstance(found, Parting)]
    void = [found for found in skipped if isinstance(found, Mismatch)]
    meeting = [*void, *runs.still_part(partings, program)]
    found = [*meeting, *_eager_mismatches(program, references, options, samples_again)]
    found = with_what_varies_noted(found, references)
    looked_at = [reference for reference, _ in originals.worked]
    again = _again(program, looked_at, count, options.seed)
    after = [work.work(program, sample) if sample is not None else None for sample in again]
    seconds = originals.seconds + process_time() - busy
    if not originals.seeded:
        found = [mismatch for mismatch in found if mismatch.aspect not in (RANDOM, DRAWS)]
    mismatches = [mismatch for mismatch in found if mismatch.aspect != RANDOM] or found
    if any(mismatch.aspect != RANDOM for mismatch in found) and not originals.stable:
        text = "the original does not give the same result twice for the same input and seed: nothing can be compared"
        return _failed(EntryFailure("raised", text), references, seconds)
    return Comparison(
        samples=sum(not reference.twin for reference in references),
        declared=sum(reference.sample.declared for reference in references),
        equal=not any(_breaks(mismatch) for mismatch in found),
        sides=count_sides(decisions, references),
        mismatches=tuple(_worst(mismatches)),
        seconds=seconds,
        prepared=originals.seconds,
        slower=tuple(work.slower(looked_at, [done for _, done in originals.worked], after)),
        left_out=() if quick or some else tuple(runs.left_out),
        left_unpaired=() if some else tuple(runs.left_unpaired),
        left_untried=() if some else tuple(runs.left_untried),
    )


def _run(
    rewinding: Rewinding,
    decisions: tuple[Decision, ...],
    options: SessionOptions,
    samples: int,
    *,
    quick: bool,
    only: frozenset[str],
    exactly: str = "",
) -> Originals:
    watch, busy = Stopwatch(), process_time()
    original = rewinding.entry
    count = max(1, min(samples, QUICK) if quick and not only else samples)
    extra = 0 if quick or not decisions else _EXTRA
    limit = min(_QUICK_SECONDS if quick else _FULL_SECONDS, options.timeout / 5)
    with recording(decisions) as recorder, traced_path.watched() as consultation:
        latest = limit * (1.0 if quick else 1.0 + _OWED)
        searched = [decision for decision in decisions if not decision.optional]
        runs = Runs(original, searched, options, recorder, consultation, watch, limit, latest)
        runs.vary(count, extra, limit if quick else limit * _VARIED, only)
        met = _run_exactly(runs, exactly, quick=quick) if exactly else _run_further(runs, quick=quick)
    rewinding.back()
    stable, seeded = _is_stable(original, runs.references)
    looked_at = [] if quick or only else work.looked_at(runs.references)
    worked = [(reference, work.work(original, reference.sample)) for reference in looked_at]
    rewinding.back()
    for number, reference in enumerate(runs.references):
        reference.number = number
    seconds = process_time() - busy
    remembered = Remembered()
    return Originals(original, runs, met, options, count, extra, quick, stable, seeded, worked, seconds, remembered)


def _run_further(runs: Runs, *, quick: bool) -> list[tuple[Decision, Parting | Mismatch]]:
    """What is made of the inputs that were varied; gives where the sides of decisions meet."""
    if quick:
        runs.differentiate()
        return []
    runs.guide()
    runs.redraw()
    runs.thicken()
    runs.approach()
    runs.differentiate()
    runs.hold()
    runs.change_modes()
    runs.call_in_a_row()
    met = list(runs.meet())
    runs.change_pairs()
    runs.change_kinds()
    return met


def _run_exactly(runs: Runs, exactly: str, *, quick: bool) -> list[tuple[Decision, Parting | Mismatch]]:
    """As `_run_further`, up to the one run that is labelled so, and without what searches for inputs."""
    if not runs.have_run(exactly):
        runs.differentiate()  # what has no gradients at all is run without them
    runs.exactly = exactly
    for make in () if quick else (runs.hold, runs.change_modes, runs.change_pairs, runs.change_kinds):
        if not runs.have_run(exactly):
            make()
    return [] if quick else list(runs.meet())


def _again(program: Entry, references: Sequence[Reference], count: int, seed: int) -> list[Sample | None]:
    """The program's own arguments for input sets of the original, in their order."""
    wanted = [reference.sample.label for reference in references]
    known = {s.label: s for s in itertools.islice(variations(program, count, seed), count if wanted else 0)}
    return [known.get(label) for label in wanted]


def _failed(failure: EntryFailure, references: Sequence[Reference], seconds: float) -> Comparison:
    declared = sum(reference.sample.declared for reference in references)
    return Comparison(len(references), declared, False, failure=failure, seconds=seconds)


def _breaks(mismatch: Mismatch) -> bool:
    """Whether a mismatch means that results differ (and not only what is raised on inputs of our own making)."""
    if mismatch.narrower:  # on inputs, or in a mode, that nobody declared
        return False
    return mismatch.aspect not in TOLD and (
        mismatch.declared or mismatch.aspect not in ("exception", "message", "cost")
    )


def _worst(mismatches: Sequence[Mismatch]) -> list[Mismatch]:
    """A few of each kind, declared inputs first, eager before the traced path."""
    ranked = sorted(
        mismatches,
        key=lambda m: (
            m.aspect == RANDOM,
            not m.declared,
            not _breaks(m),
            m.where != "eager",
            m.is_not_finite,  # a candidate may answer for what it does to these
            m.in_integers,  # few call a program so
            m.sample.count(", "),  # the plainest input first: others are made of it
        ),
    )
    return few_of_each_kind(ranked, _MOST_MISMATCHES)


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


def _eager_mismatches(
    program: Entry, references: Sequence[Reference], options: SessionOptions, samples: Iterator[Sample]
) -> Iterator[Mismatch]:
    wanted: dict[str, list[Reference]] = {}
    for reference in references:
        wanted.setdefault(reference.base, []).append(reference)
    known_refusals = refusals(references)

    def counted(reference: Reference, found: Iterable[Mismatch]) -> Iterator[Mismatch]:
        return (m for m in _of(reference, found) if not is_refusal(reference, m, known_refusals))

    known: dict[str, Sample] = {}
    raising: dict[str, list[Mismatch]] = {}
    """Of another argument or setting: what was raised under it on the traced path..."""
    returning: set[str] = set()
    """... and under which of them another input did not raise there."""
    done = 0
    with traced_path.watched() as consultation:
        for given in samples:
            if not wanted:
                break
            known[given.label] = given
            for reference in wanted.pop(given.label, ()):
                sample = reference.derive(given)
                before = known.get(reference.before)
                patience = patience_of(references, options, OF_REWRITTEN, reference)
                consultation.take()
                twice = not reference.sequel and (len(reference.calls) > 1 or done < ALWAYS_TWICE)
                sequel = [known[label] for label in reference.sequel if label in known]
                outcomes = run_sample(program, sample, twice=twice, patience=patience, before=before, sequel=sequel)
                done += 1
                if outcomes is None:
                    yield _overdone(sample, "eager")
                    continue
                consulted = consultation.take()
                differing = list(mismatches(reference, outcomes, "eager"))
                yield from counted(reference, differing)
                if any(map(_settles, differing)):
                    return
                if consulted and is_informative(outcomes[0]):
                    with traced_path.assumed(options.targets):
                        traced = run_sample(
                            program, sample, twice=twice, patience=patience, before=before, sequel=sequel
                        )
                    if traced is None:
                        yield _overdone(sample, TRACED_PATH)
                        continue
                    differing = list(counted(reference, _traced_path_mismatches(reference, traced)))
                    if reference.sample.mode == FLAG:
                        change = reference.sample.label.removeprefix(reference.base)
                        loud = [mismatch for mismatch in differing if mismatch.aspect == "exception"]
                        differing = [mismatch for mismatch in differing if mismatch.aspect != "exception"]
                        raising.setdefault(change, []).extend(loud)
                        returning |= {change} if traced[0].returned else set()
                    yield from differing
                    if any(map(_settles, differing)):
                        return
    # what raises on some inputs alone is no refusal to compile: it comes when the program runs
    yield from itertools.chain.from_iterable(found for change, found in raising.items() if change in returning)
    for reference in itertools.chain.from_iterable(wanted.values()):
        yield Mismatch(reference.sample.label, reference.sample.declared, "eager", "type", "this input", "another one")


def _of(reference: Reference, found: Iterable[Mismatch]) -> Iterator[Mismatch]:
    """The mismatches, with the input set that alone shows them: none where others were run before it."""
    alone = not reference.sequel
    return (replace(mismatch, base=reference.base) if alone else mismatch for mismatch in found)


def _settles(mismatch: Mismatch) -> bool:
    """Whether nothing that is still to come could make up for a mismatch: another result, for numbers that are finite;
    on a declared input also what is raised, but for a check of the program's own that is still to be rewritten.

    A candidate may answer for what it makes of an infinity or NaN that nobody declared (see rewrite.search.verdict).
    """
    if mismatch.narrower or mismatch.stopped:
        return False
    if mismatch.declared:
        return mismatch.aspect in _DECLARED
    return not mismatch.is_not_finite and mismatch.aspect in _RESULTS


def _overdone(sample: Sample, where: str) -> Mismatch:
    return Mismatch(sample.label, sample.declared, where, "cost", "a result", "too much time or memory", narrower=True)


def _traced_path_mismatches(reference: Reference, traced: Sequence[Outcome]) -> Iterator[Mismatch]:
    if reference.traced is not None and any(
        True for _ in mismatches(reference, reference.traced, TRACED_PATH, REORDERED)
    ):  # the program asks how it is run, and does something else there
        reference = replace(reference, calls=reference.traced)
    for found in mismatches(reference, traced, TRACED_PATH, REORDERED):
        # what is compiled for the declared sizes is not what runs on these; where it is traced anew, raising is loud
        if found.aspect != "exception" or reference.sample.mode not in TRACED_ANEW:
            yield found
