"""Medians, ratios and Markdown tables, for the benchmark scripts beside this file."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = dict(os.environ, OMP_NUM_THREADS="1", PYTHONPATH=str(ROOT), TORCHINDUCTOR_COMPILE_THREADS="1")


@dataclass(frozen=True)
class Measured:
    """Wall seconds of several runs."""

    name: str
    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        """The middle run."""
        return statistics.median(self.seconds)


def commands(named: dict[str, Sequence[str]], turns: int = 5, cwd: Path | None = None) -> list[Measured]:
    """Wall seconds of subprocesses. The turns are interleaved, so that drift of the machine hits all alike."""
    seconds: dict[str, list[float]] = {name: [] for name in named}
    for _ in range(turns):
        for name, command in named.items():
            start = time.perf_counter()
            subprocess.run(
                command, env=ENVIRONMENT, cwd=cwd, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False
            )
            seconds[name].append(time.perf_counter() - start)
    return [Measured(name, tuple(values)) for name, values in seconds.items()]


def calls(name: str, function: Callable[[], object], turns: int = 5) -> Measured:
    """Wall seconds of calls in this process."""
    seconds = []
    for _ in range(turns):
        start = time.perf_counter()
        function()
        seconds.append(time.perf_counter() - start)
    return Measured(name, tuple(seconds))


def table(rows: Sequence[Measured], against: str) -> str:
    """Median, spread and ratio to the row called `against`."""
    base = next(row.median for row in rows if row.name == against)
    lines = ["| what | median, ms | least to most, ms | ratio |", "|---|---:|---:|---:|"]
    for row in rows:
        spread = f"{min(row.seconds) * 1000:.0f} to {max(row.seconds) * 1000:.0f}"
        lines.append(f"| {row.name} | {row.median * 1000:.0f} | {spread} | {row.median / base:.2f} |")
    return "\n".join(lines)


def python(*arguments: str) -> list[str]:
    """A command line of this interpreter."""
    return [sys.executable, *arguments]
