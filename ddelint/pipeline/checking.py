"""`check`: files → findings of both passes → fixes with evidence → a report."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace

from ddelint.pipeline.gathering import (
    PipelineError,
    Run,
    Sources,
    discover,
    named_files,
    read_files,
    roots,
    static_findings_of_stdin,
)
from ddelint.pipeline.reporting import report
from ddelint.pipeline.static_pass import check_files
from ddelint.report.model import Progress, Report
from ddelint.settings.options import CheckOptions, Mode


def run_check(paths: Sequence[str], options: CheckOptions, progress: Progress) -> Report:
    """Find, propose, verify and, as the options say, write. Raises PipelineError (one line, exit code 2)."""
    run = Run(options, progress, Sources((), {}))
    found = discover(paths, run)
    run.checked, run.named = frozenset(map(str, found)), named_files(paths)
    if options.stdin is not None and not found:
        return report(run, files=0)
    if options.layers is not None and options.layers.entries:
        options = run.options = replace(options, entries=(*options.entries, *options.layers.entries))
    if options.mode is not Mode.STATIC:  # reading alone loads none of this
        from ddelint.pipeline import advice
        from ddelint.pipeline.entries import entry_specs
        from ddelint.pipeline.searching import note_timings, trace_entries
        from ddelint.pipeline.sessions import are_known, start_worker

    static_only = options.mode is Mode.STATIC and options.stdin is None
    if static_only:  # texts are read by whoever checks them
        run.sources = Sources([*roots(paths), *run.linked], {})
        readable = []
    else:
        readable = read_files(found, paths, run)
    specs = [] if options.mode is Mode.STATIC else entry_specs(paths, readable, options)
    if not specs and options.mode is Mode.TRACE:
        raise PipelineError(advice.no_entry(paths, readable))
    progress.debug(f"{len(found)} files, {len(specs)} with an entry")
    # torch is loaded while the static pass runs, unless all that it will be asked was asked before
    starting = start_worker(options, at_once=not are_known(specs, paths, options)) if specs else nullcontext()
    with starting as worker:
        if options.stdin is not None:
            run.static += static_findings_of_stdin(found[0], run)
        else:
            check_files([str(path) for path in found], run.named, run)
        if worker is not None:
            for found_static in run.static:
                progress.finding(found_static)
            trace_entries(worker, specs, paths, run)
            note_timings(worker, run)
    reported = report(run, files=len(found))
    if specs or options.mode is Mode.STATIC or options.stdin is not None or not reported.remaining:
        return reported
    return replace(reported, hints=tuple(advice.read_only(paths, readable, reported.remaining)))
