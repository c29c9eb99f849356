"""A whole search for fixes, request by request, against exporting the fixed program.

    python tests/benchmarks/search.py [FILE...]

Each FILE (default: `models/ten_sites.py` beside this script, and the quickstart) is searched as `check --diff` does, by
the same code, in this process and its worker. What a request to the worker costs is the CPU time of the worker's
processes while it is answered, of the children that they waited for (compilers), too. torch's import and the loading of
the entry stand aside. The measure is `torch.export.export` of the fixed program in the same worker: a fork that is as
warm as those that the search uses; the median of five. Needs Linux (/proc).
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from measuring import ROOT

sys.path.insert(0, str(ROOT))

from ddelint.options import CheckOptions, Mode
from ddelint.pipeline.entries import entry_specs, session_options
from ddelint.pipeline.gathering import Run, Sources, read_files
from ddelint.pipeline.searching import search
from ddelint.protocol import EntryFailure
from ddelint.trace.session import Session, Worker

FILES = (ROOT / "tests" / "benchmarks" / "models" / "ten_sites.py", ROOT / "fixtures" / "quickstart" / "model.py")
EXPORTS = 5
TICKS = os.sysconf("SC_CLK_TCK")
KINDS = ("trace", "compare", "verify", "front ends", "types")


class Silent:
    """Progress that nobody watches."""

    def stage(self, text: str) -> None:
        """Nothing."""

    def share(self, done: int, total: int) -> None:
        """Nothing."""

    def note(self, text: str) -> None:
        """Nothing."""


@dataclass
class Costs:
    """CPU seconds of the requests of a search, by their kind."""

    seconds: dict[str, list[float]] = field(default_factory=lambda: {kind: [] for kind in KINDS})
    wall: float = 0.0

    def total(self, *kinds: str) -> float:
        """CPU seconds of some kinds, or all."""
        return sum(sum(self.seconds[kind]) for kind in kinds or KINDS)

    def cell(self, kind: str) -> str:
        """`3 in 2.81`."""
        return f"{len(self.seconds[kind])} in {self.total(kind):.1f}"


class Metered(Session):
    """A session that notes what each request costs."""

    costs: Costs

    def ask(self, method: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """As Session.ask."""
        before = worker_seconds()
        reply = super().ask(method, arguments)
        self.costs.seconds.setdefault(_kind(method, arguments), []).append(worker_seconds() - before)
        return reply


def _kind(method: str, arguments: Mapping[str, Any]) -> str:
    if method != "compile":
        return method
    return "front ends" if not arguments["samples"] and arguments["backend"] == "eager" else "verify"


def worker_seconds() -> float:
    """CPU seconds so far of all processes below this one."""
    found: dict[int, tuple[int, float]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                fields = Path("/proc", name, "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            found[int(name)] = int(fields[1]), sum(map(int, fields[11:15])) / TICKS
    me, total = os.getpid(), 0.0
    for number, (parent, seconds) in found.items():
        while parent in found and parent != me:
            parent = found[parent][0]
        total += seconds if parent == me and number != me else 0.0
    return total


def measured(path: Path, worker: Worker) -> tuple[int, int, Costs, float]:
    """Findings, findings with a fix, what the search cost, and the median cost of an export of the fixed program."""
    options = CheckOptions(mode=Mode.TRACE, cache=False, unsafe_fixes=True)
    run = Run(options, Silent(), Sources((), {}))
    readable = read_files([path.resolve()], [str(path)], run)
    (spec,) = entry_specs([str(path)], readable, options)
    session = worker.open(session_options(spec, [str(path)], options))
    if isinstance(session, EntryFailure):
        raise SystemExit(session.message)
    session.__class__, session.costs = Metered, Costs()  # type: ignore[attr-defined]
    assert isinstance(session, Metered)
    started = time.perf_counter()
    search(session, run)
    costs = session.costs
    costs.wall = time.perf_counter() - started
    exports = []
    for _ in range(EXPORTS):
        session.costs = Costs()
        compilation = session.compile(run.history.overlay if run.history else {}, ("export",), 0, "eager", fresh=False)
        assert all(result.ok for result in compilation.results), compilation
        exports.append(session.costs.total("front ends"))
    session.close()
    return len(run.traced), sum(d.fix is not None for d in run.traced), costs, statistics.median(exports)


def main() -> int:
    """The command line above."""
    files = [Path(name) for name in sys.argv[1:]] or list(FILES)
    print("| program | findings | fixed | " + " | ".join(KINDS) + " | all, s | wall, s | export, s | search / export |")
    print("|---|---:|---:|" + "---:|" * (len(KINDS) + 4))
    for path in files:
        with Worker() as worker:
            findings, fixed, costs, export = measured(path, worker)
        cells = " | ".join(costs.cell(kind) for kind in KINDS)
        deciding = costs.total("trace", "compare", "types")
        print(
            f"| {path.name} | {findings} | {fixed} | {cells} | {costs.total():.1f} | {costs.wall:.0f} | {export:.2f} | "
            f"{deciding / export:.1f}; verified {costs.total() / export:.1f} |",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
