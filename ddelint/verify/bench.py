"""A program measured: in eager, compiled as it is, compiled as one graph, unbacked against backed.

Runs in the worker. Each arm compiles in an empty cache, has the same weights and the same batch, and an eager call goes
before everything.
"""

from __future__ import annotations

import platform
from collections.abc import Callable
from dataclasses import replace
from time import perf_counter
from typing import Any

import torch
from torch.utils import _pytree as pytree

from ddelint.nouns.measurements import BACKED, COMPILED, EAGER, FIXED, FULLGRAPH, ORIGINAL, Arm, Measured, Parity
from ddelint.nouns.protocol import EntryFailure, SessionOptions
from ddelint.trace.entry import Entry
from ddelint.trace.marks import by_parameter
from ddelint.verify import device as devices
from ddelint.verify import parity as parities
from ddelint.verify.arms import Runner, Setting, measure, warm_up
from ddelint.verify.calls import module_of, run
from ddelint.verify.inputs import variations
from ddelint.verify.references import Reference
from ddelint.verify.samples import Sample
from ddelint.verify.timing import TIMERS

_SECONDS = 2.0
"""For timing one arm."""
_TRIED = 16
"""Declared inputs among which the batch is looked for."""
_SHARE = 0.75
"""Of the request's time, after which no further arm is started."""
_NOT_COMPARED = "results are not compared: in eager, the original gives on {device} what it does not give on the CPU"


def measure_program(
    original: Entry, rewritten: Callable[[], Entry], which: str, options: SessionOptions, *, parity: bool
) -> Measured:
    """Measure the original (eager, compiled with its graph breaks), or the program that `rewritten()` gives.

    The fixed program's arms are eager, `fullgraph`, and where it has unbacked dimensions, backed ones beside; with
    `parity` also what closes the gap between these. The batch is the first declared input on which the original
    returns.
    """
    started = perf_counter()
    device, reason = _device(options)
    about = Measured(
        device=device,
        device_name=_name(device),
        torch_version=str(torch.__version__),
        threads=torch.get_num_threads(),
        timer=TIMERS[device],
        notes=(f"{options.device} not run: {reason}",) if reason else (),
    )
    hows = (EAGER, COMPILED) if which == ORIGINAL else (EAGER, FULLGRAPH)
    if reason and options.device != "auto":
        return replace(about, arms=tuple(Arm(which, how, error=f"n/a: {reason}") for how in hows))
    found = _batch(original, options.seed)
    if isinstance(found, EntryFailure):
        return replace(about, failure=found)
    reference, seed = found
    state = _state(original)
    entry = original if which == ORIGINAL else rewritten()
    setting = Setting(entry, seed, state, device)
    about = replace(about, sample=reference.sample.label, batch=_described(setting))
    plain = parities.marks_of(setting)
    compared = device == "cpu" or bool(devices.agreeing(original, [reference], lambda found: found.sample.make()))
    if not compared:
        about = replace(about, notes=(*about.notes, _NOT_COMPARED.format(device=device)))
    runners = [Runner(setting, which, how, plain if plain.dimensions and how == FULLGRAPH else None) for how in hows]
    if which == FIXED and plain.dimensions:
        runners.append(Runner(setting, which, BACKED, replace(plain, unbacked=False, hints={}, bounds={})))
    warm_up(device)
    for runner in runners:
        if perf_counter() - started > _SHARE * options.timeout:
            runner.give_up("not measured: the entry's time is over (--timeout)")
            continue
        runner.start(reference, compared=compared)
        runner.count_recompiles()
        runner.try_cuda_graphs()
    measure(runners, setting, _SECONDS)
    sizes: Parity | None = None
    if parity and which == FIXED and perf_counter() - started < _SHARE * options.timeout:
        sizes = parities.compare_parity(setting, reference, options, timed=True)
        sizes = replace(sizes, on_gpu=parities.on_gpu(setting, options))
    return replace(about, arms=tuple(runner.arm for runner in runners), parity=sizes)


def compare_sizes(original: Entry, rewritten: Callable[[], Entry], options: SessionOptions, *, timed: bool) -> Parity:
    """Unbacked against backed of the program that `rewritten()` gives, on its own."""
    device, reason = _device(options)
    found = _batch(original, options.seed)
    if isinstance(found, EntryFailure):
        return Parity(device=device, failure=found)
    reference, seed = found
    state = _state(original)
    setting = Setting(rewritten(), seed, state, device)
    parity = parities.compare_parity(setting, reference, options, timed=timed)
    parity = replace(parity, on_gpu=parities.on_gpu(setting, options))
    return replace(parity, notes=(*parity.notes, f"cuda not run: {reason}")) if reason else parity


def _device(options: SessionOptions) -> tuple[str, str]:
    """Where to measure, and why not on the GPU where that was wanted."""
    if options.device == "cpu":
        return "cpu", ""
    reason = devices.missing()
    if not reason:
        return "cuda", ""
    return "cpu", reason if options.device == "cuda" else ""


def _name(device: str) -> str:
    if device == "cuda":
        return str(torch.cuda.get_device_name())
    try:
        with open("/proc/cpuinfo") as file:
            return next((line.split(":", 1)[1].strip() for line in file if line.startswith("model name")), "")
    except OSError:
        return platform.processor() or platform.machine()


def _batch(original: Entry, seed: int) -> tuple[Reference, int] | EntryFailure:
    """The first declared input on which the original returns, with what it returns, and its seed.

    Where sizes are unbacked, the largest input goes first.
    """
    error = "no declared input"
    count = _TRIED if original.seeded else 1
    samples = [sample for sample in variations(original, 2 * count, seed) if sample.declared][:count]
    numbered = list(zip(range(seed, seed + count), samples))
    if original.unbacked:
        numbered.sort(key=lambda pair: -_elements(pair[1]))
    for number, sample in numbered:
        outcome = run(original.build(), sample.make(), surroundings=original.surroundings)
        if outcome.returned:
            return Reference(sample, [outcome]), _seed_of(sample.label, number)
        error = str(outcome.error)
    return EntryFailure("raised", f"the original returns on none of its inputs: {error}")


def _elements(sample: Sample) -> int:
    try:
        leaves = pytree.tree_leaves(sample.make())
    except Exception:  # whoever runs it meets this again
        return 0
    return sum(leaf.numel() for leaf in leaves if isinstance(leaf, torch.Tensor))


def _seed_of(label: str, number: int) -> int:
    """`seed 3` → 3."""
    word = label.rpartition(" ")[2]
    return int(word) if word.isdigit() else number


def _state(original: Entry) -> dict[str, Any] | None:
    module = module_of(original.build())
    if module is None:
        return None
    return {name: value.detach().clone() for name, value in module.state_dict().items() if torch.is_tensor(value)}


def _described(setting: Setting) -> tuple[str, ...]:
    """`x: float32[512, 64]` for each argument."""

    def one(name: str, value: Any) -> str:
        if isinstance(value, torch.Tensor):
            return f"{name}: {str(value.dtype).removeprefix('torch.')}{list(value.shape)}"
        return f"{name}: {type(value).__name__}"

    return tuple(one(*pair) for pair in by_parameter(setting.entry.parameters, setting.arguments(setting.seed)).items())
