"""The program through export, strict export and torch.compile, each replayed against the original in eager."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from time import perf_counter

from ddelint.nouns.diagnostics import Question
from ddelint.nouns.protocol import UNFINISHED, Compilation, SessionOptions, TargetResult
from ddelint.trace import torch_internals
from ddelint.trace.entry import Entry
from ddelint.trace.limits import TooMuch, limited
from ddelint.verify import device as devices
from ddelint.verify.backward_autocast import Around, backward_question, runs_under_autocast
from ddelint.verify.calls import Outcome, run
from ddelint.verify.compiling import Compiling
from ddelint.verify.counting import counted_questions
from ddelint.verify.exporting import judge_export
from ddelint.verify.inputs import variations
from ddelint.verify.program import RECOMPILES, Program
from ddelint.verify.reach import Rewinding
from ddelint.verify.references import Reference, patience_of, witnessed
from ddelint.verify.replaying import the_row_early
from ddelint.verify.running import Overruns, Patience, run_sample
from ddelint.verify.samples import IN_A_ROW, REQUIRING_GRAD, Sample
from ddelint.verify.shortening import few_of_each_kind

_MOST_MISMATCHES = 6
_ONE_WAY = 8
"""Calls in a row, before as many on the same inputs in reverse."""
_ORIGINAL_SECONDS = 30.0
_SHARE = 0.9
"""Of the request's time: what is left is for saying how it went."""


def compile_targets(
    original: Entry,
    rewritten: Callable[[], Entry],
    targets: Sequence[str],
    options: SessionOptions,
    samples: int,
    backend: str,
) -> Compilation:
    """Trace what `rewritten()` gives through `targets` and replay it against `original`.

    `samples` 0: trace only. `backend` is torch.compile's; gradients need at least `aot_eager`, which then replaces
    `eager`. What the front ends raise becomes a failed TargetResult, with a Question where user code can be blamed.
    """
    started = perf_counter()
    count = max(samples, 8)
    rewinding = Rewinding(original)

    def make() -> list[Reference]:
        references = list(eager_references(rewinding.entry, options, samples, count))
        references += _in_a_row(rewinding.entry, references) if samples else ()
        rewinding.back()
        return references

    with witnessed(rewinding.entry, make, list) if samples else contextlib.nullcontext(make()) as references:
        program = Program(Rewinding(rewritten()).entry, options, count)
        return _through_targets(program, targets, options, references, backend, replayed=bool(samples), since=started)


def _through_targets(
    program: Program,
    targets: Sequence[str],
    options: SessionOptions,
    references: Sequence[Reference],
    backend: str,
    *,
    replayed: bool,
    since: float,
) -> Compilation:
    replays = the_row_early(references) if replayed else []
    notes: list[str] = []
    results: list[TargetResult] = []
    backward: list[bool] = []
    for target in targets:
        left = options.timeout * _SHARE - (perf_counter() - since)
        try:
            with limited(max(left, 1.0), None):
                if target == "compile":
                    results += Compiling(program, options, backend, notes).judge(references, replays, backward)
                elif target in ("export", "strict"):
                    results.append(judge_export(program, target, references, replays, notes))
        except TooMuch:
            results.append(TargetResult(target, "cpu", ok=False, error=f"{UNFINISHED} within {max(left, 1.0):.0f} s"))
    if "compile" in targets and replayed:
        results += _on_devices(program, options, backend, notes, results, replays, backward)
    if replayed and any(result.target == "compile" and not result.error for result in results):
        asked = _autocast_question(program, options, references)
        further = (*([asked] if asked is not None else []), *counted_questions(program, references))
        results = [replace(r, questions=(*r.questions, *further)) if r.target == "compile" else r for r in results]
    results = [_shortened(result) for result in results]
    failed_backward = tuple(m for result in results for m in result.mismatches if m.where == "backward")
    return Compilation(
        results=tuple(
            replace(result, mismatches=tuple(m for m in result.mismatches if m.where != "backward"))
            for result in results
        ),
        backward=all(backward) if backward else None,
        mismatches=tuple(few_of_each_kind(failed_backward, _MOST_MISMATCHES)),
        notes=tuple(dict.fromkeys(notes)),
    )


def _autocast_question(program: Program, options: SessionOptions, references: Sequence[Reference]) -> Question | None:
    """DDE701: whether gradients differ only because the backward pass is compiled for the forward's autocast."""
    place = program.blame_anyway()
    if place is None or not runs_under_autocast(program.entry):
        return None

    def gradients(reference: Reference, inside: Around) -> Outcome:
        @contextlib.contextmanager
        def around() -> Iterator[None]:
            with program.entry.surroundings(), inside():
                yield

        with torch_internals.compile_settings(recompiles=RECOMPILES):
            compiling = Compiling(program, options, "aot_eager", [])
            compiled = compiling.compiled(torch_internals.backend("aot_eager"))
            arguments = compiling.prepared(reference)
            return run(compiled, arguments, module=compiled.module, gradients=True, surroundings=around)

    return backward_question(place, references, gradients)


def _shortened(result: TargetResult) -> TargetResult:
    ranked = sorted(result.mismatches, key=lambda mismatch: not (mismatch.declared or mismatch.in_a_row))
    return replace(result, mismatches=tuple(few_of_each_kind(ranked, _MOST_MISMATCHES)))


def eager_references(original: Entry, options: SessionOptions, samples: int, count: int) -> Iterator[Reference]:
    """The original in eager; at least up to the first input on which it returns, which is what will be traced."""
    started = perf_counter()
    any_returned = False
    known: list[Reference] = []
    overruns = Overruns()
    for number, sample in enumerate(variations(original, count, options.seed)):
        if sample.label == REQUIRING_GRAD:  # gradients nobody asked for: eager against eager has compared these
            continue
        spent = perf_counter() - started > min(_ORIGINAL_SECONDS, options.timeout / 10)
        if any_returned and (number >= samples or spent):
            return
        patience = patience_of(known, options)
        calls = run_sample(original, sample, twice=False, patience=patience, overruns=overruns)
        if calls is not None:
            any_returned |= calls[0].returned
            twice = len(calls) > 1
            rerun = partial(_run_again, twice=twice, patience=patience)
            known.append(Reference(sample, calls, rerun=rerun))
            yield known[-1]


def _run_again(entry: Entry, moved: Sample, *, twice: bool, patience: Patience) -> list[Outcome] | None:
    return run_sample(entry, moved, twice=twice, patience=patience)


def _in_a_row(original: Entry, references: Sequence[Reference]) -> Iterator[Reference]:
    """Where a call changes state: one instance, called on one declared input after the other, and back again.

    What is traced sees the first call: a count that Python keeps stands still in what is exported. An input on whose
    side alone the count is read may come first, where it shows nothing, so that each comes twice.
    """
    samples = [r.sample for r in references if r.sample.declared and r.first.returned]
    if not samples or not any(reference.first.state_changed for reference in references):
        return
    there = list(itertools.islice(itertools.cycle(samples), _ONE_WAY))
    first, *others = [*there, *reversed(there)]
    sample = replace(first, declared=False, mode=IN_A_ROW)
    calls = run_sample(original, sample, twice=False, patience=None, sequel=others)
    if calls is not None and all(call.returned for call in calls):
        yield Reference(
            sample,
            calls,
            sequel=tuple(other.label for other in others),
            rerun=lambda entry, moved: run_sample(entry, moved, twice=False, patience=None, sequel=others),
        )


def _on_devices(
    program: Program,
    options: SessionOptions,
    backend: str,
    notes: list[str],
    results: Sequence[TargetResult],
    replays: Sequence[Reference],
    backward: list[bool],
) -> list[TargetResult]:
    """The same on a GPU, through Triton kernels, where there is one and the CPU raised no question."""
    if options.device == "cpu" or backend != "inductor":
        return []
    reason = devices.missing()
    if reason:
        notes.append(f"cuda not run: {reason}")
        return []
    if not all(result.ok for result in results if result.target == "compile"):
        notes.append("cuda not run: torch.compile fails on the CPU")
        return []
    fitting = devices.agreeing(program.entry, replays, program.arguments)
    if not fitting:
        notes.append("cuda not run: the program itself fails or gives other results in eager there")
        return []
    return Compiling(program, options, backend, notes, "cuda").judge(fitting, fitting, backward)
