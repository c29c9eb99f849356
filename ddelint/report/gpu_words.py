"""What was found out about the code for a GPU, in words that keep assembled, interpreted and run apart."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ddelint.nouns.diagnostics import GpuEvidence, KernelCost


def is_reported(gpu: GpuEvidence) -> bool:
    """Whether anything at all was done."""
    return any(value is not None for value in (gpu.assembled, gpu.interpreted, gpu.run))


def level(gpu: GpuEvidence) -> str:
    """`GPU code for sm_90: assembled, interpreted on 12 inputs, equal, not run`."""
    if not is_reported(gpu):
        return f"GPU code for {gpu.target}: not made"
    inputs = "1 input" if gpu.inputs == 1 else f"{gpu.inputs} inputs"
    words = [
        {True: "assembled", False: "does not assemble", None: "no kernel to assemble"}[gpu.assembled],
        {True: f"interpreted on {inputs}, equal", False: f"interpreted on {inputs}, differs", None: "not interpreted"}[
            gpu.interpreted
        ],
        {True: "run, equal", False: "run, differs", None: "not run"}[gpu.run],
    ]
    return f"GPU code for {gpu.target}: {', '.join(words)}"


def counts(gpu: GpuEvidence) -> str:
    """What one call costs, before and after: `launches 6 (before 4)`; empty where nothing was counted."""
    words = []
    for one, many, attribute in _COUNTED:
        now = getattr(gpu, attribute)
        if now is None:
            continue
        before = getattr(gpu.before, attribute) if gpu.before is not None else None
        if attribute == _RARE and not (now or before):
            continue
        words.append(f"{now} {one if now == 1 else many}" + (f" (before {before})" if before is not None else ""))
    return ", ".join(words)


_RARE = "eager_operators"
"""Said only where there are any, before or after."""
_COUNTED = (
    ("launch", "launches", "launches"),
    ("library call", "library calls", "library_calls"),
    ("operator in eager", "operators in eager", _RARE),
    ("host read", "host reads", "host_reads"),
)


def bound(microseconds: float) -> str:
    """`0.12 us`, with three digits."""
    return f"{microseconds:.3g} us"


def details(gpu: GpuEvidence) -> Iterator[str]:
    """More lines, for those who want to know."""
    if reported := counts(gpu):
        yield f"one call: {reported}"
    if gpu.before is not None and gpu.before.graphs is not None:
        yield f"graphs before: {gpu.before.graphs}"
    if gpu.registers is not None:
        kernels = "1 kernel" if gpu.kernels == 1 else f"{gpu.kernels} kernels"
        if gpu.before is not None and gpu.before.kernels is not None:
            kernels += f" (before {gpu.before.kernels})"
        yield f"{kernels}, at most {gpu.registers} registers, {gpu.spilled} bytes spilled, {gpu.shared} bytes shared"
    if gpu.bound_microseconds is not None:
        operations = f", {gpu.operations} operations" if gpu.operations else ""
        yield (
            f"{gpu.bytes_moved} bytes moved{operations}: a bound of {bound(gpu.bound_microseconds)} on {gpu.name} "
            "(each kernel at the full rate of memory or arithmetic; not measured)"
        )
    if gpu.cuda_graphs:
        yield f"CUDA graphs: {gpu.cuda_graphs}"


def per_kernel(gpu: GpuEvidence) -> Iterator[str]:
    """A table: what each kernel needs, as the assembler says, and what one forward call costs of it at least."""
    called = [cost for cost in gpu.per_kernel if cost.calls]
    if not called:
        return
    yield f"GPU code for {gpu.target}, one forward call, kernel by kernel; bounds on {gpu.name}, not measured:"
    rows = [_COLUMNS, *map(_cells, called)]
    widths = [max(len(row[at]) for row in rows) for at in range(len(_COLUMNS) - 1)]
    for *cells, name in rows:
        yield "  ".join([*(f"{cell:>{width}}" for cell, width in zip(cells, widths)), name])
    if more := len(gpu.per_kernel) - len(called):
        kernels = "1 more kernel is" if more == 1 else f"{more} more kernels are"
        yield f"{kernels} for gradients, or for other sizes"


_COLUMNS = ("calls", "registers", "spilled", "shared", "bytes moved", "operations", "bound", "kernel")


def _cells(cost: KernelCost) -> tuple[str, ...]:
    """What is not known is left empty."""
    known = (cost.calls, cost.registers, cost.spilled, cost.shared, cost.bytes_moved, cost.operations)
    least = "" if cost.bound_microseconds is None else bound(cost.bound_microseconds)
    name = f"{cost.name} (library)" if cost.library else cost.name
    return (*("" if number is None else str(number) for number in known), least, name)


def plain(gpu: GpuEvidence | None) -> dict[str, Any] | None:
    """As plain values, for machines."""
    if gpu is None:
        return None
    return {
        "target": gpu.target,
        "name": gpu.name or None,
        "assembled": gpu.assembled,
        "interpreted": gpu.interpreted,
        "inputs": gpu.inputs,
        "run": gpu.run,
        "kernels": gpu.kernels,
        "launches": gpu.launches,
        "library_calls": gpu.library_calls,
        "eager_operators": gpu.eager_operators,
        "host_reads": gpu.host_reads,
        "before": asdict(gpu.before) if gpu.before is not None else None,
        "registers": gpu.registers,
        "spilled": gpu.spilled,
        "shared": gpu.shared,
        "bytes_moved": gpu.bytes_moved,
        "operations": gpu.operations,
        "bound_microseconds": gpu.bound_microseconds,
        "cuda_graphs": gpu.cuda_graphs or None,
        "per_kernel": [asdict(cost) for cost in gpu.per_kernel],
    }
