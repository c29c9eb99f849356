"""`shapes`: the contract of each entry."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace

from ddelint.contracts import Contract
from ddelint.options import CheckOptions
from ddelint.pipeline import advice
from ddelint.pipeline.entries import entry_specs, label, others, session_options
from ddelint.pipeline.gathering import PipelineError, Run, Sources, discover, read_files
from ddelint.pipeline.searching import start_worker
from ddelint.protocol import EntryFailure
from ddelint.report.model import Progress


@dataclass(frozen=True, slots=True)
class ShapesReport:
    """The outcome of `shapes`."""

    contracts: tuple[Contract, ...]
    warnings: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()


def run_shapes(paths: Sequence[str], options: CheckOptions, progress: Progress) -> ShapesReport:
    """Derive the contract of each entry. Raises PipelineError (one line, exit code 2)."""
    run = Run(options, progress, Sources((), {}))
    readable = read_files(discover(paths, run), paths, run)
    specs = entry_specs(paths, readable, options)
    if not specs:
        raise PipelineError(advice.no_entry(paths, readable))
    contracts: list[Contract] = []
    waiting = deque(specs)
    with start_worker(options) as worker:
        while waiting:
            spec = waiting.popleft()
            progress.stage(f"loading {label(spec)}")
            settings = session_options(spec, paths, options)
            opened = worker.open(replace(settings, unbacked=options.unbacked or "all"))
            if isinstance(opened, EntryFailure):
                if opened.kind == "no-torch":
                    raise PipelineError(opened.message)
                contracts.append(Contract(label(spec), failure=opened))
                continue
            with closing(opened) as session:
                waiting.extendleft(reversed(others(spec, session.info.names)))
                progress.note(f"running {session.info.label}")
                progress.stage("following sizes")
                contracts.append(replace(session.contract({}), label=session.info.label))
    return ShapesReport(tuple(contracts), tuple(run.warnings), tuple(run.errors))
