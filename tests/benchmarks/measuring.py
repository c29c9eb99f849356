"""Medians, ratios and Markdown tables, for the benchmark scripts beside this file."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = dict(os.environ, OMP_NUM_THREADS="1", PYTHONPATH=str(ROOT), TORCHINDUCTOR_COMPILE_THREADS="1")


@dataclass(frozen=True)
class Measured:
    """Several runs of one thing: wall seconds, and CPU seconds (user and system, children that were waited for too).

    CPU seconds are what ratios are made of: they hardly feel what else the machine does.
    """

    name: str
    wall: tuple[float, ...]
    cpu: tuple[float, ...]

    @property
    def median_wall(self) -> float:
        """The middle run."""
        return statistics.median(self.wall)

    @property
    def median_cpu(self) -> float:
        """The middle run."""
        return statistics.median(self.cpu)


def commands(named: Mapping[str, Sequence[str]], turns: int = 5, cwd: Path | None = None) -> list[Measured]:
    """Subprocesses, their output thrown away. Turns are interleaved, so that drift of the machine hits all alike."""
    runs: dict[str, list[tuple[float, float]]] = {name: [] for name in named}
    for _ in range(turns):
        for name, command in named.items():
            start = time.perf_counter()
            process = subprocess.Popen(
                command, env=ENVIRONMENT, cwd=cwd, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            runs[name].append((time.perf_counter() - start, usage.ru_utime + usage.ru_stime))
    return [Measured(name, tuple(w for w, _ in values), tuple(c for _, c in values)) for name, values in runs.items()]


def table(rows: Sequence[Measured], against: str) -> str:
    """Medians, the spread of the CPU seconds, and the ratio of CPU seconds to the row called `against`."""
    base = next(row.median_cpu for row in rows if row.name == against)
    lines = ["| what | CPU, ms | least to most, ms | wall, ms | CPU ratio |", "|---|---:|---:|---:|---:|"]
    for row in rows:
        spread = f"{min(row.cpu) * 1000:.0f} to {max(row.cpu) * 1000:.0f}"
        milliseconds = f"{row.median_cpu * 1000:.0f} | {spread} | {row.median_wall * 1000:.0f}"
        lines.append(f"| {row.name} | {milliseconds} | {row.median_cpu / base:.2f} |")
    return "\n".join(lines)


def python(*arguments: str) -> list[str]:
    """A command line of this interpreter."""
    return [sys.executable, *arguments]
