"""A whole search for fixes, request by request, against exporting the fixed program.

    python tests/benchmarks/search.py [-j N] [FILE...]

Each FILE (default: two of `models` beside this script, and the quickstart) is searched as `check --diff -j N`
does (default: one process a core), by the same code, in this process and its worker. What a request to the worker costs
is the CPU time of the process that answers it, and of the children that it waited for (compilers); `all` is that of all
of the worker's processes, with what was begun and not wanted, and with what loads Inductor. torch's import and the
loading of the entry stand aside. `busy` is how many processes of this one and the worker wanted a core, on the average
of ten looks a second: on a machine that others use, too, wall time says little. The measure is `torch.export.export` of
the fixed program in the same worker: a fork that is as warm as those that the search uses; the median of five. Needs
Linux (/proc).
"""

from __future__ import annotations

import argparse
import collections
import os
import statistics
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from measuring import ROOT

sys.path.insert(0, str(ROOT))

from ddelint.nouns.protocol import EntryFailure
from ddelint.pipeline.entries import entry_specs, session_options
from ddelint.pipeline.gathering import Run, Sources, read_files
from ddelint.pipeline.searching import search
from ddelint.settings.options import CheckOptions, Mode
from ddelint.trace.worker_process import Worker

MODELS = ROOT / "tests" / "benchmarks" / "models"
FILES = (MODELS / "nine_lines.py", MODELS / "ten_sites.py", ROOT / "fixtures" / "quickstart" / "model.py")
EXPORTS = 5
TICKS = os.sysconf("SC_CLK_TCK")
KINDS = ("trace", "compare", "verify", "front ends")
STEPS = collections.defaultdict(
    str,
    {
        "tracing": "trace",
        "comparing in eager, a few inputs": "compare",
        "comparing in eager, all inputs": "compare",
        "verifying with Inductor": "verify",
        "verifying with front ends alone": "front ends",
    },
)
"""What the steps of `--timings` are called here."""


class Silent:
    """Progress that nobody watches."""

    def stage(self, text: str) -> None:
        """Nothing."""

    def share(self, done: int, total: int) -> None:
        """Nothing."""

    def note(self, text: str) -> None:
        """Nothing."""

    def finding(self, diagnostic: object, outcome: str) -> None:
        """Nothing."""


class Busy(threading.Thread):
    """Looks how many processes want a core, until it is stopped. A context manager."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self._looks: list[int] = []
        self._is_over = threading.Event()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._is_over.set()
        self.join()

    def run(self) -> None:
        """Look ten times a second."""
        while not self._is_over.wait(0.1):
            self._looks.append(sum(state in "RD" for state, _ in below().values()))

    @property
    def mean(self) -> float:
        """How many, on the average."""
        return statistics.fmean(self._looks or [0])


@dataclass
class Costs:
    """What a search cost: by kind of request (how often, CPU seconds), altogether, and as seen from outside."""

    kinds: Mapping[str, tuple[int, float]]
    cpu: float
    wall: float
    busy: float

    def seconds(self, *kinds: str) -> float:
        """CPU seconds of some kinds."""
        return sum(seconds for kind, (_, seconds) in self.kinds.items() if STEPS[kind] in kinds)

    def cell(self, kind: str) -> str:
        """`3 in 2.8`."""
        found = [cost for name, cost in self.kinds.items() if STEPS[name] == kind]
        return f"{sum(count for count, _ in found)} in {sum(seconds for _, seconds in found):.1f}"


def below() -> dict[int, tuple[str, float]]:
    """Process → state and CPU seconds (with those of children that it waited for), of this one and all below it."""
    found: dict[int, tuple[int, str, float]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                fields = Path("/proc", name, "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            found[int(name)] = int(fields[1]), fields[0], sum(map(int, fields[11:15])) / TICKS
    me = os.getpid()
    ours = {}
    for number, (_, state, seconds) in found.items():
        parent = number
        while parent in found and parent != me:
            parent = found[parent][0]
        if parent == me:
            ours[number] = state, seconds
    return ours


def worker_seconds() -> float:
    """CPU seconds so far of all processes below this one."""
    return sum(seconds for number, (_, seconds) in below().items() if number != os.getpid())


def measured(path: Path, worker: Worker, jobs: int) -> tuple[int, int, Costs, float]:
    """Findings, findings with a fix, what the search cost, and the median cost of an export of the fixed program."""
    options = CheckOptions(mode=Mode.TRACE, cache=False, unsafe_fixes=True, jobs=jobs)
    run = Run(options, Silent(), Sources((), {}))
    readable = read_files([path.resolve()], [str(path)], run)
    (spec,) = entry_specs([str(path)], readable, options)
    session = worker.open(session_options(spec, [str(path)], options))
    if isinstance(session, EntryFailure):
        raise SystemExit(session.message)
    before, started = worker_seconds(), time.perf_counter()
    with Busy() as busy:
        search(session, run)
    wall = time.perf_counter() - started
    costs = Costs(worker.timings.requests(), worker_seconds() - before, wall, busy.mean)
    exports = []
    for _ in range(EXPORTS):
        before = worker_seconds()
        compilation = session.compile(run.history.overlay if run.history else {}, ("export",), 0, "eager", fresh=False)
        exports.append(worker_seconds() - before)
        assert all(result.ok for result in compilation.results), compilation
    session.close()
    return len(run.traced), sum(d.fix is not None for d in run.traced), costs, statistics.median(exports)


def main() -> int:
    """The command line above."""
    parser = argparse.ArgumentParser()
    parser.add_argument("-j", type=int, default=os.cpu_count() or 1)
    parser.add_argument("files", nargs="*", type=Path, default=list(FILES))
    given = parser.parse_args()
    print(
        "| program | findings | fixed | "
        + " | ".join(KINDS)
        + " | all, s | wall, s | busy | export, s | search / export |"
    )
    print("|---|---:|---:|" + "---:|" * (len(KINDS) + 5))
    for path in given.files:
        with Worker() as worker:
            findings, fixed, costs, export = measured(path, worker, given.j)
        cells = " | ".join(costs.cell(kind) for kind in KINDS)
        print(
            f"| {path.name} | {findings} | {fixed} | {cells} | {costs.cpu:.1f} | {costs.wall:.0f} | {costs.busy:.2f} | "
            f"{export:.2f} | {costs.seconds('trace', 'compare') / export:.1f}; all {costs.cpu / export:.1f} |",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
