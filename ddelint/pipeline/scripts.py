"""`run`: a script is run, and what it compiled, exported or called is checked."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from ddelint.nouns.protocol import EntryFailure, EntrySpec, ScriptRun, ScriptSpec
from ddelint.pipeline.entries import session_options
from ddelint.pipeline.gathering import PipelineError, Run, Sources, discover, read_files, static_findings
from ddelint.pipeline.reporting import report
from ddelint.pipeline.searching import beside, entry_failure, note_timings, searched_in_time
from ddelint.pipeline.sessions import start_worker
from ddelint.report.model import Progress, Report
from ddelint.settings.options import CheckOptions
from ddelint.shapes.streams import written_stream
from ddelint.sources.replacing import write_atomically

if TYPE_CHECKING:
    from ddelint.trace.captured_sessions import CapturedScript
    from ddelint.trace.session import Session


def run_script(
    script: ScriptSpec,
    paths: Sequence[str],
    options: CheckOptions,
    progress: Progress,
    save_inputs: str | None = None,
    shapes: str | None = None,
) -> Report:
    """Run a script, then check what it compiled, exported or called as `run_check` checks an entry.

    Findings are reported in `paths`, those of the static pass in files that the captured programs run. `save_inputs`:
    write the captured arguments there; `shapes`: the sizes of all calls. Raises PipelineError (one line, exit code 2),
    also where nothing was captured.
    """
    run = Run(options, progress, Sources((), {}))
    found = discover(paths, run)
    with start_worker(options) as worker:
        readable = read_files(found, paths, run)
        progress.stage(f"running {script.target}")
        captured = worker.run_script(session_options(_script_entry(script), paths, options))
        if isinstance(captured, EntryFailure):
            raise PipelineError(captured.message if captured.kind in _OWN_WORDS else _died(script, captured))
        for line in captured.run.traceback.splitlines():
            progress.debug(line)
        if not captured.run.captures:
            raise PipelineError(_nothing_captured(script, captured.run))
        _report_ending(script, captured.run, run)
        if save_inputs is not None:
            _save_inputs(captured, save_inputs, run)
        if shapes is not None:
            _save_shapes(captured.run, shapes)
        reached = check_programs(captured, _script_entry(script), run)
        note_timings(worker, run)
        for source in readable:
            if source.filename in reached:
                run.static += static_findings(source, run)
            else:
                run.unread.add(source.filename)
    return report(run, files=len(reached))


class Captured(Protocol):
    """Programs that were captured, and how their run went."""

    run: ScriptRun

    def open(self, number: int, *, backed: bool = False) -> Session | EntryFailure:
        """One of the programs as a session."""


def check_programs(captured: Captured, entry: EntrySpec, run: Run) -> set[str]:
    """Trace, fix and verify each program; gives the files under PATHs that they run."""
    reached: set[str] = set()
    for number in range(len(captured.run.captures)):
        opened = captured.open(number)
        if isinstance(opened, EntryFailure):
            spec = replace(entry, filename=captured.run.captures[number].filename)
            run.traced.append(entry_failure(opened, spec, run))
        else:
            backed = partial(captured.open, number, backed=True)
            reached |= searched_in_time(opened, run, beside(opened, backed, run))
    return reached


_OWN_WORDS = ("missing", "no-torch", "internal")
"""Kinds of failures whose message says it all."""


def _script_entry(script: ScriptSpec) -> EntrySpec:
    return EntrySpec(script.target if script.module else os.path.realpath(script.target), script=script)


def _died(script: ScriptSpec, failure: EntryFailure) -> str:
    return f"{script.target} could not be run to its end: it {failure.message}"


def _nothing_captured(script: ScriptSpec, how: ScriptRun) -> str:
    wanted = "torch.compile, torch.export.export or draft_export"
    if script.patterns:
        wanted += f", or of a module that matches {', '.join(script.patterns)}"
    else:
        wanted += " (--capture-modules PATTERN captures other modules)"
    ended = f"; it {how.ending}" if how.ending else ""
    return f"nothing to check: {script.target} made no call of {wanted}{ended}"


def _report_ending(script: ScriptSpec, how: ScriptRun, run: Run) -> None:
    if how.ending:
        run.warnings.append(f"{script.target} {how.ending}; going on with what it had captured")
    if how.left_out:
        run.warnings.append(f"{how.left_out} more programs that {script.target} called are not looked at")


def _save_inputs(captured: CapturedScript, filename: str, run: Run) -> None:
    """Raises PipelineError where the file cannot be written."""
    written = captured.save(os.path.abspath(filename))
    if written.failure is not None:
        raise PipelineError(f"cannot write {filename}: {written.failure.message}")
    run.warnings += [f"not saved to {filename}: {text}" for text in written.refused]
    run.progress.note(f"saved {', '.join(written.saved) or 'nothing'} to {filename}")


def _save_shapes(ran: ScriptRun, filename: str) -> None:
    """Raises PipelineError where the file cannot be written."""
    calls = ((capture.label, shapes) for capture in ran.captures for shapes in capture.shapes)
    try:
        write_atomically(Path(filename), written_stream(calls).encode("utf-8"))
    except OSError as error:
        raise PipelineError(f"cannot write {filename}: {error.strerror or error}") from None
