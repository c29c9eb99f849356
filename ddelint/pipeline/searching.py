"""One entry: trace, propose, verify, and ask every front end."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from ddelint.knowledge.catalog import rule
from ddelint.nouns.diagnostics import Diagnostic, Question
from ddelint.nouns.levels import Severity
from ddelint.nouns.protocol import UNFINISHED, Compilation, EntryFailure, EntrySpec
from ddelint.pipeline import host_reads, parity
from ddelint.pipeline.changed_lines import is_new
from ddelint.pipeline.entries import label, others, session_options
from ddelint.pipeline.gathering import PipelineError, Run
from ddelint.pipeline.gpu_code import (
    doubted,
    gpu_code,
    held_against_safe_fixes,
    is_compiled,
    wanted,
    with_gpu_code,
    without_gpu_code,
)
from ddelint.pipeline.sessions import open_entry
from ddelint.settings import suppressions
from ddelint.settings.options import Mode
from ddelint.sources.source import SourceError, SourceFile

if TYPE_CHECKING:
    from ddelint.rewrite.search.rounds import Outcome
    from ddelint.trace.front_ends import Asked
    from ddelint.trace.session import Following, Session
    from ddelint.trace.worker_process import Worker


MOST_RESERVED = 0.5
"""How much of an entry's time may be kept back from trying rewrites, for the final verification."""

_SEARCHED = 0.6
"""How much of an entry's time is for its fixes where something else is asked of it, too."""
FRONT_ENDS_SECONDS = 20.0
"""For asking one of Dynamo's front ends which of the findings are its own, too."""


def note_timings(worker: Worker, run: Run) -> None:
    """Where the time went, on standard error, where the call asks for it."""
    for line in worker.timings.lines() if run.options.timings else ():
        run.progress.note(line)


def trace_entries(worker: Worker, specs: Sequence[EntrySpec], paths: Sequence[str], run: Run) -> None:
    """Trace, fix and verify each entry. Raises PipelineError where an entry that was asked for cannot be opened."""
    options = run.options
    required = options.mode is Mode.TRACE or options.entry is not None
    if options.suggest:
        _load_the_search()
    waiting = deque(specs)
    while waiting:
        spec = waiting.popleft()
        run.progress.stage(f"loading {label(spec)}")
        opening = session_options(spec, paths, options)
        opened = open_entry(worker, opening, run.progress, known=options)
        if not isinstance(opened, EntryFailure):
            with closing(opened) as session:
                searched_in_time(session, run, beside(session, partial(_backed, session, worker), run))
                waiting.extendleft(reversed(others(spec, session.info.names)))
        elif opened.kind == "no-torch":
            if required:
                raise PipelineError(opened.message)
            run.warnings.append(f"{label(spec)} is read, not run: {opened.message}")
            return
        elif opened.kind in ("missing", "bad-inputs") and required:
            raise PipelineError(opened.message)
        else:
            run.traced.append(entry_failure(opened, spec, run))


def _load_the_search() -> None:
    """Import what searches while the worker loads torch: libcst and the moves take a third of a second."""
    for name in ("ddelint.rewrite.search.rounds", "ddelint.trace.diagnose"):
        import_module(name)
    import_module("ddelint.rewrite.moves").load_moves()


def beside(
    session: Session, backed: Callable[[], Session | EntryFailure], run: Run
) -> list[Callable[[], list[Diagnostic]]]:
    """What is asked of an entry once its fixes are known; `backed` gives the entry with backed sizes."""
    asked: list[Callable[[], list[Diagnostic]]] = []
    if parity.is_wanted(run.options):
        asked.append(lambda: parity.parity_findings(session, run))
    if host_reads.is_wanted(run.options):
        asked.append(lambda: host_reads.host_read_findings(session, run))
    if run.options.guards:
        asked.append(lambda: guards_of(session, backed, run))
    return asked


def _backed(session: Session, worker: Worker) -> Session | EntryFailure:
    return worker.open(replace(session.options, backed=True, timeout=session.seconds_left))


def guards_of(session: Session, backed: Callable[[], Session | EntryFailure], run: Run) -> list[Diagnostic]:
    """What the program would be guarded on; `backed` gives the entry with backed sizes."""
    from ddelint.trace.guards import guards

    if session.is_over:
        return []
    run.progress.stage("looking for guards")
    opened = backed()
    if not isinstance(opened, EntryFailure):
        opened.ends_at = session.ends_at
    return guards(opened, run.sources)


def searched_in_time(session: Session, run: Run, further: Sequence[Callable[[], list[Diagnostic]]]) -> set[str]:
    """What `search` gives, and the findings of what is asked `further`, within the entry's time."""
    options = run.options
    with session.limited(options.timeout * (_SEARCHED if further else 1.0)):
        reached = search(session, run)
    with session.limited(options.timeout):
        for findings in further:
            run.traced += findings()
        if further and session.is_over:
            run.warnings.append(
                f"{session.info.label}: not all that was asked for was looked at, the time was over "
                f"(--timeout is {options.timeout:g} s)"
            )
    return reached


def search(session: Session, run: Run) -> set[str]:
    """Trace, propose and verify for one entry, in its session's time; gives the files under PATHs that it runs."""
    from ddelint.rewrite.search.asking import Asking
    from ddelint.rewrite.search.last_resort import ran_out_of_time
    from ddelint.rewrite.search.phases import Listener
    from ddelint.rewrite.search.rounds import Search
    from ddelint.trace.diagnose import diagnose

    options = run.options
    run.entries.append(session.info.label)
    run.progress.note(f"running {session.info.label}")
    session.ahead.trace(run.history.overlay if run.history is not None else {})
    if options.suggest and _reads_as_asking(session.options.entry, run):
        session.expect_compiled()
    types = session.types(())
    if types.failure is not None:
        run.traced.append(entry_failure(types.failure, session.options.entry, run))
        return set()
    run.reached.update(types.rows)
    ignored = _suppressed(run)
    asking = Asking(
        session,
        run.sources,
        options.targets,
        samples=options.samples,
        diagnose=diagnose,
        types=types.functions,
        ahead=session.ahead,
        width=session.width,
        is_over=lambda: session.is_over,
    )
    search = Search(
        asking,
        wanted=lambda diagnostic: (
            options.at(diagnostic.span.filename).selects(diagnostic.code, diagnostic.span.filename)
            and not ignored(diagnostic)
            and is_new(diagnostic, run)
        ),
        hears=Listener(run.progress.stage, run.progress.share, run.progress.finding),
        start=run.history,
        seconds_left=lambda: session.seconds_left,
        # what is found late could not be verified any more
        reserved=lambda verified: min(MOST_RESERVED * options.timeout, asking.seconds_at_the_end(verified)),
        graph_breaks=session.options.graph_breaks,
    )
    traced = asking.trace(search.start).questions
    if options.suggest and traced:
        session.expect_compiled()
    front_ends = _front_ends(session, traced, run) if any(question.asks for question in traced) else ()
    outcome = search.run() if options.suggest else search.findings()
    if outcome.trace.failure is not None:
        run.traced.append(entry_failure(outcome.trace.failure, session.options.entry, run))
        return set(types.rows)
    if not any(question.kind in ("other", "failure") for question in outcome.trace.questions):
        run.executed.update({name: frozenset(rows) for name, rows in types.rows.items()})
    found = _with_front_ends(session, front_ends, outcome, run)
    outcome, found = _with_gpu_code(session, outcome, found, run)
    run.traced += found
    run.traced += _budget(outcome)
    run.warnings += fails_elsewhere(session.info.label, outcome.compilation)
    late = sum(map(ran_out_of_time, outcome.diagnostics))
    if late:
        findings = "1 finding was" if late == 1 else f"{late} findings were"
        run.warnings.append(
            f"{session.info.label}: the time for fixes ran out, {findings} not tried to the end; another call may find "
            f"more (--timeout is {options.timeout:g} s)"
        )
    run.history = outcome.everything if options.unsafe_fixes else outcome.safe
    run.open_fixes.update({place: (fix, outcome.safe) for place, fix in outcome.open_fixes.items()})
    return set(types.rows)


def _reads_as_asking(entry: EntrySpec, run: Run) -> bool:
    """Whether an error was found in the entry's file by reading: then tracing will most likely find one to fix."""
    return any(one.severity is Severity.ERROR and one.span.filename == entry.filename for one in run.static)


def _with_gpu_code(
    session: Session, outcome: Outcome, found: list[Diagnostic], run: Run
) -> tuple[Outcome, list[Diagnostic]]:
    """The findings, those that are fixed with what can be said of their code for a GPU; no fix is safe with which that
    does on a declared input what eager does not."""
    found = without_gpu_code(found, run.options, session.info)
    if not any(map(is_compiled, found)):
        return outcome, found
    if wanted(run.options, session.info):
        run.progress.stage("looking at the code for a GPU")
    evidence = gpu_code(session, outcome.everything.overlay, run.options)
    found = with_gpu_code(found, evidence)
    reason = held_against_safe_fixes(session, outcome, evidence, run.options)
    if reason:
        outcome = replace(outcome, safe=outcome.safe.untouched(), open_fixes={})
        found = doubted(found, reason)
    return outcome, found


def _front_ends(session: Session, traced: Sequence[Question], run: Run) -> list[Following[Asked]]:
    """What strict export and torch.compile ask, being found out while fixes are looked for."""
    from ddelint.trace.front_ends import asking

    seconds = min(FRONT_ENDS_SECONDS, run.options.timeout / 4)
    return [
        session.follow(asking(run.sources, target, traced=traced, seconds=seconds)) for target in ("strict", "compile")
    ]


def _with_front_ends(
    session: Session, begun: Sequence[Following[Asked]], outcome: Outcome, run: Run
) -> list[Diagnostic]:
    """The findings with the front ends that ask there, too; and what only those ask, where nothing fixes it."""
    from ddelint.rewrite.search.last_resort import behind
    from ddelint.trace.diagnose import diagnose
    from ddelint.trace.front_ends import front_ends_of

    if not any(diagnostic.asks for diagnostic in outcome.diagnostics):
        return list(outcome.diagnostics)
    run.progress.stage("asking Dynamo")
    asked = [chain.result() for chain in begun or _front_ends(session, outcome.trace.questions, run)]
    reported = [
        replace(found, asks=tuple(dict.fromkeys((*found.asks, *front_ends_of(found.span, asked)))))
        for found in outcome.diagnostics
    ]
    compiled = outcome.compilation.results if outcome.compilation is not None else ()
    verified = {result.target for result in compiled}
    cleared = verified - {result.target for result in compiled if not result.ok}
    everything = [*run.traced, *reported]  # what another entry found is fixed in the text that this one was searched in
    fixed = [edit.span for found in everything if found.fix is not None for edit in found.fix.edits]
    known = (*fixed, *(found.span for found in everything))
    alone = [
        (one, question)
        for one in asked
        for question in one.questions
        if one.target not in cleared and not any(map(question.span.overlaps, known))
    ]
    takes = _taken(session, outcome, {one.target for one, _ in alone} - verified)
    left = [one for one in asked if one.target not in cleared | takes]
    unfixed = [found for found in reported if found.fix is None and found.asks] if run.options.suggest else []
    for question in (question for one, question in alone if one in left):
        found = behind(diagnose(question, run.sources[question.span.filename]), unfixed)
        reported.append(replace(found, asks=front_ends_of(question.span, left)))
    return reported


def _taken(session: Session, outcome: Outcome, targets: Collection[str]) -> set[str]:
    """Of front ends that verified nothing: those that take the fixed program, whatever they asked of the original."""
    if not targets or not outcome.everything.overlay:
        return set()
    found = session.compile(outcome.everything.overlay, tuple(sorted(targets)), 0, "eager")
    return {result.target for result in found.results if result.ok and found.failure is None}


def _suppressed(run: Run) -> Callable[[Diagnostic], bool]:
    """Whether a comment on the line silences a diagnostic."""

    def ignored(diagnostic: Diagnostic) -> bool:
        source = run.sources.get(diagnostic.span.filename)
        return source is not None and diagnostic not in suppressions.apply(source, [diagnostic])

    return ignored


def _budget(outcome: Outcome) -> Iterable[Diagnostic]:
    """DDE004 where the budget left pairs unexplored."""
    if not outcome.trace.open_pairs or not outcome.trace.open_sites:
        return
    where = outcome.trace.open_sites[0]
    text = f"{outcome.trace.open_pairs} answers at {len(outcome.trace.open_sites)} places"
    found = rule("DDE004")
    yield Diagnostic("DDE004", found.message.format(expression=text), where, found.severity, ("trace",), text)


def fails_elsewhere(entry: str, compilation: Compilation | None) -> list[str]:
    """What is said of targets that fail although nothing is left to fix, where no line under PATHs can be blamed.

    And of those that took more time than there was, so that nobody knows.
    """
    said = []
    for result in compilation.results if compilation is not None else ():
        if result.error.startswith(UNFINISHED):
            said.append(f"{entry}: whether {result.target} takes the program is not known: it {result.error}")
        elif result.error and not result.questions:
            said.append(f"{entry}: {result.target} fails all the same, in no file that is checked: {result.error}")
    return said


def entry_failure(failure: EntryFailure, spec: EntrySpec, run: Run) -> Diagnostic:
    """DDE002: the entry could not be run."""
    from ddelint.trace.diagnose import entry_failed

    filename = failure.span.filename if failure.span is not None else spec.filename
    source = run.sources.get(filename)
    if source is None:
        source = run.sources.get(spec.filename)
    if source is None:
        try:
            source = SourceFile.read(Path(spec.filename))
        except (OSError, SourceError):  # what is compiled in a running process may stand in no file
            source = SourceFile(spec.filename, "")
    return entry_failed(failure, source)
