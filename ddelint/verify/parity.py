"""Unbacked against backed: which decision Inductor made otherwise, and whether a hint or a bound settles it.

Runs in the worker. Looking at the code needs no compiler: Inductor lowers the program up to the code that it writes.
How long that takes to run is measured where it differs and somebody asks.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from math import isqrt
from typing import Any

import torch

from ddelint.knowledge.gpus import DEFAULT, Gpu, gpu_of
from ddelint.nouns.diagnostics import Span
from ddelint.nouns.measurements import BACKED, FIXED, FULLGRAPH, GpuParity, Parity, Remedy
from ddelint.nouns.protocol import SessionOptions
from ddelint.trace import gpu_internals, torch_internals
from ddelint.trace.marks import tensors_at
from ddelint.verify import failures
from ddelint.verify.arms import Marks, Runner, Setting, measure
from ddelint.verify.generated_code import Difference, difference
from ddelint.verify.gpu_calls import Collector
from ddelint.verify.references import Reference
from ddelint.verify.samples import fresh

_HINT, _BOUND, _BOTH, _GUARDED = "hint", "bound", "hint and bound", "hint and both bounds"
_NARROW = 2**31 - 1
"""Elements up to which 32-bit indices do."""
_LOWEST = 2
"""What torch guards a backed size to be at least: sizes of 0 and 1 get graphs of their own."""
_SECONDS = 2.0
"""For timing one arm."""


def compare_parity(setting: Setting, reference: Reference, options: SessionOptions, *, timed: bool) -> Parity:
    """The program with its unbacked dimensions against the same with backed ones.

    `timed` compiles and measures what differs; without it only the code is compared. What cannot be compiled is
    named in the notes.
    """
    plain = marks_of(setting)
    if not plain.dimensions:
        return Parity(device=setting.device, notes=("no unbacked input dimension (--unbacked NAME.DIM, or all)",))
    places = tuple(f"{name}.{dimension}" for name, found in plain.dimensions.items() for dimension in found)
    parity = Parity(places, setting.device, hints=plain.hints, function=_function(setting))
    backed_marks = replace(plain, unbacked=False, hints={}, lowers={}, bounds={})
    try:
        found, tried = _looked_at(setting, plain, backed_marks, lambda marks: written(setting, marks))
        parity = replace(parity, changed=found.changed, lines=found.lines, divergences=found.divergences)
        parity = replace(parity, remedies=tuple(remedy for remedy, _ in tried))
        if timed and found.changed:
            parity = _timed(parity, setting, reference, backed_marks, plain, tried)
    except (Exception, SystemExit) as error:
        return replace(parity, notes=(*parity.notes, f"parity not compared: {failures.summary(error)}"))
    return parity


Write = Callable[[Marks], list[str]]
"""What gives the code that Inductor writes under some marks."""


def _looked_at(
    setting: Setting, plain: Marks, backed_marks: Marks, write: Write
) -> tuple[Difference, list[tuple[Remedy, Marks]]]:
    """How the code of unbacked differs from that of backed, and what each remedy leaves of it."""
    backed = write(backed_marks)
    found = difference(backed, write(plain))
    tried: list[tuple[Remedy, Marks]] = []

    def attempt(name: str, marks: Marks) -> Difference:
        left = difference(backed, write(marks))
        tried.append((_remedy(name, left, marks, plain), marks))
        return left

    if _expensive(found):
        last, most = found, plain
        for name, marks in _remedies(setting, plain, {d.closes for d in found.divergences}):
            last, most = attempt(name, marks), marks
        for marks in _guarded(most, plain):
            if not _expensive(last):
                break
            last = attempt(_GUARDED, marks)
    return found, tried


def _expensive(found: Difference) -> bool:
    """Whether a decision came out otherwise that may cost something."""
    return any(divergence.closes for divergence in found.divergences)


def _remedy(name: str, left: Difference, marks: Marks, plain: Marks) -> Remedy:
    """What a remedy leaves, and what it adds to the marks that there are."""
    added = (
        {place: value for place, value in given.items() if place not in known}
        for given, known in ((marks.hints, plain.hints), (marks.lowers, plain.lowers), (marks.bounds, plain.bounds))
    )
    return Remedy(name, left.changed, left.divergences, None, *added)


def on_gpu(setting: Setting, options: SessionOptions) -> GpuParity | None:
    """The same in the code for a GPU that is only described; None where nobody asks, or nothing is unbacked.

    What the assembler made of it is compared, too.
    """
    if not (options.gpu or (options.device == "cuda" and setting.device == "cpu")):
        return None
    plain = marks_of(setting)
    if not plain.dimensions:
        return None
    gpu = gpu_of(options.gpu or DEFAULT)
    reason = gpu_internals.missing()
    if reason:
        return GpuParity(gpu.target, notes=(f"not compared: {reason}",))
    try:
        found, tried = _looked_at(
            setting,
            plain,
            replace(plain, unbacked=False, hints={}, lowers={}, bounds={}),
            lambda marks: _written_for(setting, marks, gpu),
        )
    except (Exception, SystemExit) as error:
        return GpuParity(gpu.target, notes=(f"not compared: {failures.summary(error)}",))
    return GpuParity(gpu.target, found.changed, found.lines, found.divergences, tuple(remedy for remedy, _ in tried))


def _written_for(setting: Setting, marks: Marks, gpu: Gpu) -> list[str]:
    """The code for a GPU, and what the assembler says of its kernels, as lines that can be compared."""
    collector = Collector(gpu, interpreted=False)
    program = setting.program()
    args, kwargs = setting.arguments(setting.seed, marks)
    with torch_internals.compile_settings(recompiles=8), setting.entry.surroundings():
        backend = gpu_internals.Backend(gpu, collector, runs=False)
        torch.compile(program, fullgraph=True, backend=backend)(*args, **kwargs)
    machine = [
        f"machine code: {kernel.registers} registers, {kernel.spilled} bytes spilled, {kernel.shared} bytes shared, "
        f"{kernel.warps} warps, {kernel.vector} bits at once"
        for kernel in collector.assembled.values()
    ]
    return [*(code for code, _ in collector.codes), "\n".join(machine)]


def marks_of(setting: Setting) -> Marks:
    """The entry's unbacked dimensions, with the hints and bounds that its own arguments carry."""
    entry = setting.entry
    tensors = tensors_at(entry.parameters, fresh(entry, setting.seed))
    dimensions = {name: found for name, found in entry.unbacked.items() if name in tensors and found}
    kinds: tuple[dict[str, int], ...] = ({}, {}, {})
    for name, found in dimensions.items():
        tensor = tensors[name]
        known_kinds = (torch_internals.hints_of(tensor), *torch_internals.marked_bounds_of(tensor))
        for kind, known in zip(kinds, known_kinds):
            kind.update({f"{name}.{dimension}": known[dimension] for dimension in found if dimension in known})
    return Marks(dimensions, True, *kinds)


def _function(setting: Setting) -> Span | None:
    """Where what is called begins."""
    program = setting.entry.build()
    function: Any = program.forward if isinstance(program, torch.nn.Module) else program
    code = getattr(inspect.unwrap(getattr(function, "__func__", function)), "__code__", None)
    if code is None:
        return None
    return Span(code.co_filename, code.co_firstlineno, 1, code.co_firstlineno, 2)


def written(setting: Setting, marks: Marks) -> list[str]:
    """The code that Inductor writes for the program under `marks`. Raises what Dynamo or Inductor raises."""
    codes: list[str] = []
    program = setting.program()
    args, kwargs = setting.arguments(setting.seed, marks)
    with torch_internals.compile_settings(recompiles=8), setting.entry.surroundings():
        target = torch.compile(program, fullgraph=True, backend=torch_internals.lowering_to(codes))
        target(*args, **kwargs)
    return codes


def _remedies(setting: Setting, plain: Marks, wanted: set[str]) -> list[tuple[str, Marks]]:
    """What to try: hints of the batch's own sizes, and where indices are wide, bounds that make them narrow."""
    sizes: dict[str, int] = {}
    bounds: dict[str, int] = {}
    given = tensors_at(setting.entry.parameters, setting.arguments(setting.seed))
    for name, dimensions in plain.dimensions.items():
        shape = tuple(given[name].shape)
        rest = 1
        for dimension, size in enumerate(shape):
            rest *= size if dimension not in dimensions else 1
        for dimension in dimensions:
            place = f"{name}.{dimension}"
            if shape[dimension] > 1:  # 0 and 1 are nobody's usual size
                sizes[place] = shape[dimension]
            limit = int((_NARROW // max(rest, 1)) ** (1 / len(dimensions)))
            bounds[place] = max(1 << (limit.bit_length() - 1), shape[dimension]) if limit > 0 else shape[dimension]
    hints = {**sizes, **plain.hints}
    tried = []
    if set(hints) - set(plain.hints):
        tried.append((_HINT, replace(plain, hints=hints)))
    if _BOUND in wanted:
        limits = {**bounds, **plain.bounds}
        tried += [(_BOUND, replace(plain, bounds=limits)), (_BOTH, replace(plain, hints=hints, bounds=limits))]
    return tried


def _guarded(marks: Marks, plain: Marks) -> Iterator[Marks]:
    """What else backed sizes are known for, tried where hints and upper bounds have left something: that they are
    neither 0 nor 1; and an upper bound that a matrix of both its sides keeps."""
    places = [f"{name}.{dimension}" for name, found in marks.dimensions.items() for dimension in found]
    lowers = {**{place: _LOWEST for place in places if marks.hints.get(place, 0) >= _LOWEST}, **marks.lowers}
    if lowers == marks.lowers:
        return
    yield replace(marks, lowers=lowers)
    square = 1 << (isqrt(_NARROW).bit_length() - 1)
    limits = {place: max(min(square, limit), marks.hints.get(place, 0)) for place, limit in marks.bounds.items()}
    narrower = {**limits, **plain.bounds}
    if narrower != marks.bounds:
        yield replace(marks, lowers=lowers, bounds=narrower)


def _timed(
    parity: Parity,
    setting: Setting,
    reference: Reference,
    backed: Marks,
    plain: Marks,
    tried: Sequence[tuple[Remedy, Marks]],
) -> Parity:
    runners = [Runner(setting, FIXED, BACKED, backed), Runner(setting, FIXED, FULLGRAPH, plain)]
    runners += [Runner(setting, FIXED, remedy.name, marks) for remedy, marks in tried]
    for runner in runners:
        runner.start(reference)
    measure(runners, setting, _SECONDS)
    failed = [f"{runner.arm.how}: {runner.arm.error}" for runner in runners if runner.arm.error]
    first, second, *rest = (runner.arm.lower for runner in runners)
    return replace(
        parity,
        backed_milliseconds=first,
        unbacked_milliseconds=second,
        remedies=tuple(replace(remedy, milliseconds=time) for (remedy, _), time in zip(tried, rest)),
        notes=(*parity.notes, *failed),
    )
