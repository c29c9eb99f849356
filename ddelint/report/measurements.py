"""What `verify --bench` prints: a table of the arms, unbacked against backed, and the same as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ddelint.nouns.diagnostics import GpuCounts, GpuEvidence
from ddelint.nouns.measurements import (
    COMPILED,
    EAGER,
    FIXED,
    FULLGRAPH,
    ORIGINAL,
    Arm,
    Benchmark,
    Divergence,
    GpuParity,
    Parity,
    Remedy,
)
from ddelint.report.gpu_words import bound, per_kernel
from ddelint.report.style import Style, width_of, words

_HEADINGS = ("", "time", "quartiles", "speed", "first call", "graphs", "launches", "kernels", "syncs", "recompiles")
_SHOWN_WORDS = 3


def render_benchmark(benchmark: Benchmark, style: Style, gpu: GpuEvidence | None = None) -> Iterator[str]:
    """Where and how it was measured, a row for each arm, and what the numbers say.

    `gpu`: the code for a GPU, whose counts stand beside what was measured.
    """
    first = next(iter(benchmark.measured), None)
    if benchmark.failure is not None:
        yield f"  {style.paint('not measured', 'bad')}: {benchmark.failure.message}"
    if first is None:
        return
    yield f"  {benchmark.versus}" if benchmark.versus else ""
    threads = f", {first.threads} {'thread' if first.threads == 1 else 'threads'}" if first.device == "cpu" else ""
    yield f"  {first.device}: {first.device_name or 'unknown'}{threads}; torch {first.torch_version}; {first.timer}"
    if first.batch:
        yield f"  batch of {first.sample}: {', '.join(first.batch)}"
    yield from _table(benchmark.arms, style, gpu if gpu is not None and gpu.launches is not None else None)
    if gpu is not None:
        yield from (f"  {line}" for line in per_kernel(gpu))
    for line in dict.fromkeys(_remarks(benchmark)):
        yield from (f"  {part}" for part in words(line, style.width - 2))


def render_parity(parity: Parity, style: Style) -> Iterator[str]:
    """Whether unbacked dimensions cost anything, what was decided otherwise, and what settles it; then for a GPU."""
    yield from _on_cpu(parity, style)
    if parity.on_gpu is not None:
        yield from _on_gpu(parity.on_gpu, parity, style)


def gpu_parity_words(found: GpuParity) -> str:
    """`GPU code for sm_90: 12 lines differ from backed (indexing width), not run`."""
    if not found.changed:
        return f"GPU code for {found.target}: unbacked has that of backed, not run"
    decisions = ", ".join(divergence.decision for divergence in found.divergences)
    return (
        f"GPU code for {found.target}: {found.changed} lines differ from backed ({decisions or 'only moved'}), not run"
    )


def _on_gpu(found: GpuParity, parity: Parity, style: Style) -> Iterator[str]:
    for note in found.notes:
        yield f"  parity, GPU code for {found.target}: {note}"
    if found.notes:
        return
    yield f"  parity, {gpu_parity_words(found)}"
    yield from _divergences(found.divergences, style)
    for remedy in found.remedies:
        yield from (f"    {line}" for line in words(f"with {remedy_words(remedy, parity)}", style.width - 6))


def _divergences(divergences: Sequence[Divergence], style: Style) -> Iterator[str]:
    for divergence in divergences:
        for number, line in enumerate(words(divergence_words(divergence), style.width - 6)):
            yield f"    {'· ' if number == 0 else '  '}{line}"


def _on_cpu(parity: Parity, style: Style) -> Iterator[str]:
    room = style.width - 6
    for note in parity.notes:
        yield f"  {note}"
    if parity.failure is not None:
        yield f"  parity not looked at: {parity.failure.message}"
    if not parity.dimensions or any(note.startswith("parity not compared") for note in parity.notes):
        return
    names = ", ".join(parity.dimensions)
    if not parity.changed:
        yield f"  parity: the code for unbacked {names} is that for backed"
        return
    said = f"  parity: unbacked {names}: {parity.changed} lines of code differ from backed"
    if parity.ratio is not None:
        times = _time(parity.unbacked_milliseconds), _time(parity.backed_milliseconds)
        said += f", {parity.ratio:.2f}x the time ({times[0]} to {times[1]})"
    yield style.paint(said, "warning") if parity.slower else said
    yield from _divergences(parity.divergences, style)
    for remedy in parity.remedies:
        yield from (f"    {line}" for line in words(f"with {remedy_words(remedy, parity)}", room))


def divergence_words(divergence: Divergence) -> str:
    """`fusion: backed has local_buffer_data ×5`."""
    sides = [
        f"{name} has {_counted(shown)}"
        for name, shown in (("backed", divergence.backed), ("unbacked", divergence.unbacked))
        if shown
    ]
    return f"{divergence.decision}: {'; '.join(sides)}"


def remedy_words(remedy: Remedy, parity: Parity) -> str:
    """`hint x.0=512: 3 lines differ (run-time check), 1.01x the time of backed`."""
    given = [f"hint {name}={value}" for name, value in remedy.values.items()]
    given += [f"bound {name}>={value}" for name, value in remedy.lowers.items()]
    given += [f"bound {name}<={value}" for name, value in remedy.bounds.items()]
    left = ", ".join(divergence.decision for divergence in remedy.divergences)
    differing = f"{remedy.changed} lines differ ({left or 'only moved'})"
    said = differing if remedy.changed else "the code is that of backed"
    if remedy.milliseconds is not None and parity.backed_milliseconds:
        said += f", {remedy.milliseconds / parity.backed_milliseconds:.2f}x the time of backed"
    return f"{', '.join(given) or remedy.name}: {said}"


def _counted(shown: Any) -> str:
    listed = [f"`{word}` ×{times}" if times > 1 else f"`{word}`" for word, times in list(shown.items())[:_SHOWN_WORDS]]
    more = len(shown) - _SHOWN_WORDS
    return ", ".join(listed) + (f" and {more} more" if more > 0 else "")


def _table(arms: Sequence[Arm], style: Style, gpu: GpuEvidence | None) -> Iterator[str]:
    base = next((arm.milliseconds for arm in arms if arm.program == ORIGINAL and arm.how == EAGER), None)
    beside = tuple(f"{gpu.target} {name}" for name in _ON_GPU) if gpu is not None else ()
    rows = [(*_HEADINGS, *beside), *((*_row(arm, base), *_on_gpu_cells(arm, gpu)) for arm in arms)]
    widths = [max(width_of(row[at]) for row in rows) for at in range(len(rows[0]))]
    for number, (row, arm) in enumerate(zip(rows, (None, *arms))):
        if arm is not None and arm.error:
            yield f"  {row[0]:<{widths[0]}}  {style.paint(arm.error.splitlines()[0], 'bad')}"
            continue
        cells = [f"{row[0]:<{widths[0]}}", *(f"{cell:>{width}}" for cell, width in zip(row[1:], widths[1:]))]
        line = "  " + "  ".join(cells).rstrip()
        yield style.paint(line, "dim") if number == 0 else line


_ON_GPU = ("launches", "library calls", "in eager", "host reads", "bound")


def _on_gpu_cells(arm: Arm, gpu: GpuEvidence | None) -> tuple[str, ...]:
    """What the code for a GPU says of the arm: counted and bounded there, not measured."""
    if gpu is None:
        return ()
    known: GpuEvidence | GpuCounts | None = {(ORIGINAL, COMPILED): gpu.before, (FIXED, FULLGRAPH): gpu}.get(
        (arm.program, arm.how)
    )
    if known is None:
        return ("",) * len(_ON_GPU)
    counted = (known.launches, known.library_calls, known.eager_operators, known.host_reads)
    least = bound(known.bound_microseconds) if known.bound_microseconds is not None else ""
    return (*("" if count is None else str(count) for count in counted), least)


def _row(arm: Arm, base: float | None) -> tuple[str, ...]:
    speed = f"{base / arm.milliseconds:.2f}x" if base and arm.milliseconds else ""
    quartiles = f"{_time(arm.lower)}-{_time(arm.upper)}" if arm.lower is not None else ""
    first = f"{arm.first_seconds:.1f} s" if arm.first_seconds is not None else ""
    counts = (arm.graphs, arm.launches, arm.kernels, arm.host_syncs, arm.recompiles)
    name = f"{arm.program}, {arm.how}"
    return (name, _time(arm.milliseconds), quartiles, speed, first, *("" if n is None else str(n) for n in counts))


def _remarks(benchmark: Benchmark) -> Iterator[str]:
    for measured in benchmark.measured:
        yield from measured.notes
    yield from benchmark.notes
    for arm in benchmark.arms:
        name = f"{arm.program}, {arm.how}"
        if arm.agrees is False:
            yield f"{name}: the result differs from the original in eager ({arm.difference})"
        if arm.cuda_graphs:
            yield f"CUDA graphs, {name}: {arm.cuda_graphs}"
    compiled = [arm for arm in benchmark.arms if arm.launches is not None and not arm.error]
    before = next((arm for arm in compiled if arm.program == ORIGINAL), None)
    after = next((arm for arm in compiled if arm.program != ORIGINAL), None)
    if before is not None and after is not None:
        counts = [(arm.launches, arm.kernels, arm.host_syncs, arm.recompiles) for arm in (before, after)]
        if counts[0] == counts[1]:
            yield "launches, kernels, host syncs and recompiles are the same before and after: expect no gain"


def _time(milliseconds: float | None) -> str:
    """`1.17 ms`, `870 us`."""
    if milliseconds is None:
        return ""
    return f"{milliseconds:.3g} ms" if milliseconds >= 1 else f"{1000 * milliseconds:.3g} us"
