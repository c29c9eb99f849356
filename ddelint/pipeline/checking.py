"""`check` and `verify`: files → findings of both passes → fixes with evidence → a report."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from contextlib import closing, nullcontext

from ddelint.options import CheckOptions, Mode
from ddelint.pipeline.entries import entry_specs, label, no_entry, others, session_options
from ddelint.pipeline.gathering import PipelineError, Run, Sources, discover, read_files, static_findings
from ddelint.pipeline.reporting import report
from ddelint.pipeline.searching import start_worker, trace_entries
from ddelint.protocol import EntryFailure
from ddelint.report.model import Progress, Report, Verification, VerifyReport


def run_check(paths: Sequence[str], options: CheckOptions, progress: Progress) -> Report:
    """Find, propose, verify and, as the options say, write. Raises PipelineError (one line, exit code 2)."""
    run = Run(options, progress, Sources((), {}))
    found = discover(paths, run)
    readable = read_files(found, paths, run)
    progress.stage("reading")
    specs = [] if options.mode is Mode.STATIC else entry_specs(paths, readable, options)
    if not specs and options.mode is Mode.TRACE:
        raise PipelineError(no_entry(paths))
    with start_worker(options) if specs else nullcontext() as worker:  # torch is loaded while the static pass runs
        for source in readable:
            run.static += static_findings(source, run)
        if worker is not None:
            trace_entries(worker, specs, paths, run)
    return report(run, files=len(found))


def run_verify(paths: Sequence[str], options: CheckOptions, progress: Progress) -> VerifyReport:
    """Compare eager with export and compile; no source change. Raises PipelineError (one line, exit code 2)."""
    run = Run(options, progress, Sources((), {}))
    readable = read_files(discover(paths, run), paths, run)
    specs = entry_specs(paths, readable, options)
    if not specs:
        raise PipelineError(no_entry(paths))
    verifications: list[Verification] = []
    waiting = deque(specs)
    with start_worker(options) as worker:
        while waiting:
            spec = waiting.popleft()
            opened = worker.open(session_options(spec, paths, options))
            if isinstance(opened, EntryFailure):
                verifications.append(Verification(label(spec), failure=opened))
                continue
            with closing(opened) as session:
                waiting.extendleft(reversed(others(spec, session.info.names)))
                progress.note(f"running {session.info.label}")
                comparison = session.compare({}, (), options.samples, False)
                compilation = session.compile({}, options.targets, options.samples, "inductor")
                verifications.append(Verification(session.info.label, comparison=comparison, compilation=compilation))
    return VerifyReport(tuple(verifications), warnings=tuple(run.warnings), errors=tuple(run.errors))
