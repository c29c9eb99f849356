"""`check` and `verify`: files → findings of both passes → fixes with evidence → a report, and new text on disk."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ddelint import suppressions
from ddelint.catalog import rule
from ddelint.diagnostics import Applicability, Diagnostic
from ddelint.discovery import Cache, Discovered, DiscoveryError, python_files
from ddelint.merge import merge
from ddelint.options import REFERRED, CheckOptions, EntryOption, Mode
from ddelint.protocol import EntryFailure, EntrySpec, ScriptRun, ScriptSpec, SessionOptions
from ddelint.report.diff import unified_diff
from ddelint.report.model import Progress, Report, Verification, VerifyReport
from ddelint.source import SourceError, SourceFile
from ddelint.trace.offers import static_offer

if TYPE_CHECKING:
    from ddelint.rewrite.history import History
    from ddelint.rewrite.search import Outcome
    from ddelint.trace.session import CapturedScript, Session, Worker


SEARCH_SHARE = 0.5
"""How much of an entry's time may go into trying rewrites; the rest is for the final verification."""

FRONT_ENDS_SECONDS = 30.0
"""For asking Dynamo which of the findings are its own, too."""


class PipelineError(Exception):
    """What keeps the tool from doing its work; the message is one line for the user (exit code 2)."""


class Sources(Mapping[str, SourceFile]):
    """The files under the given PATHs, read when they are first asked for."""

    def __init__(self, roots: Sequence[str], given: Mapping[str, SourceFile]) -> None:
        self._roots = tuple(roots)
        self._read: dict[str, SourceFile | None] = dict(given)

    def __getitem__(self, filename: str) -> SourceFile:
        if filename not in self._read:
            self._read[filename] = self._try(filename)
        source = self._read[filename]
        if source is None:
            raise KeyError(filename)
        return source

    def __contains__(self, filename: object) -> bool:
        try:
            return isinstance(filename, str) and self[filename] is not None
        except KeyError:
            return False

    def __iter__(self) -> Iterator[str]:
        return iter([name for name, source in self._read.items() if source is not None])

    def __len__(self) -> int:
        return sum(source is not None for source in self._read.values())

    def _try(self, filename: str) -> SourceFile | None:
        if not any(filename == root or filename.startswith(root.rstrip(os.sep) + os.sep) for root in self._roots):
            return None
        try:
            source = SourceFile.read(Path(filename))
            _ = source.tree
        except (OSError, SourceError):
            return None
        return source


@dataclass
class _Run:
    """What one call gathers."""

    options: CheckOptions
    progress: Progress
    sources: Sources
    static: list[Diagnostic] = field(default_factory=list)
    traced: list[Diagnostic] = field(default_factory=list)
    history: History | None = None
    """The files after the fixes that the options allow, entry after entry."""
    entries: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    executed: dict[str, frozenset[int]] = field(default_factory=dict)
    """Filename → rows that a traced entry ran."""


def run_check(paths: Sequence[str], options: CheckOptions, progress: Progress) -> Report:
    """Find, propose, verify and, as the options say, write. Raises PipelineError (one line, exit code 2)."""
    run = _Run(options, progress, Sources((), {}))
    found = _discover(paths, run)
    readable = _read_files(found, paths, run)
    progress.stage("reading")
    specs = [] if options.mode is Mode.STATIC else _entry_specs(paths, readable, options)
    if not specs and options.mode is Mode.TRACE:
        raise PipelineError(_no_entry(paths))
    with _worker(options) if specs else nullcontext() as worker:  # torch is loaded while the static pass runs
        for source in readable:
            run.static += _static_findings(source, run)
        if worker is not None:
            _trace_entries(worker, specs, paths, run)
    return _report(run, files=len(found))


def run_script(
    script: ScriptSpec,
    paths: Sequence[str],
    options: CheckOptions,
    progress: Progress,
    save_inputs: str | None = None,
) -> Report:
    """Run a script, then check what it compiled, exported or called as `run_check` checks an entry.

    Findings are reported in `paths`, those of the static pass in files that the captured programs run. `save_inputs`:
    write the captured arguments there. Raises PipelineError (one line, exit code 2), also where nothing was captured.
    """
    run = _Run(options, progress, Sources((), {}))
    found = _discover(paths, run)
    with _worker(options) as worker:
        readable = _read_files(found, paths, run)
        syntax_errors, run.static = run.static, []
        progress.stage(f"running {script.target}")
        captured = worker.run_script(_session_options(_script_entry(script), paths, options))
        if isinstance(captured, EntryFailure):
            raise PipelineError(captured.message if captured.kind in _OWN_WORDS else _died(script, captured))
        for line in captured.run.traceback.splitlines():
            progress.debug(line)
        if not captured.run.captures:
            raise PipelineError(_nothing_captured(script, captured.run))
        _tell_of(script, captured.run, run)
        if save_inputs is not None:
            _save_inputs(captured, save_inputs, run)
        reached: set[str] = set()
        for number in range(len(captured.run.captures)):
            opened = captured.open(number)
            if isinstance(opened, EntryFailure):
                spec = replace(_script_entry(script), filename=captured.run.captures[number].filename)
                run.traced.append(_failed(opened, spec, run))
            else:
                reached |= _search(opened, run)
                if options.backed:
                    run.traced += _guards(captured.open(number, backed=True), run)
        for source in readable:
            if source.filename in reached:
                run.static += _static_findings(source, run)
        run.static += [finding for finding in syntax_errors if finding.span.filename in reached]
    return _report(run, files=len(reached))


def run_verify(paths: Sequence[str], options: CheckOptions, progress: Progress) -> VerifyReport:
    """Compare eager with export and compile; no source change. Raises PipelineError (one line, exit code 2)."""
    run = _Run(options, progress, Sources((), {}))
    readable = _read_files(_discover(paths, run), paths, run)
    specs = _entry_specs(paths, readable, options)
    if not specs:
        raise PipelineError(_no_entry(paths))
    verifications: list[Verification] = []
    waiting = deque(specs)
    with _worker(options) as worker:
        while waiting:
            spec = waiting.popleft()
            opened = worker.open(_session_options(spec, paths, options))
            if isinstance(opened, EntryFailure):
                verifications.append(Verification(_label(spec), failure=opened))
                continue
            with closing(opened) as session:
                waiting.extendleft(reversed(_others(spec, session.info.names)))
                progress.note(f"running {session.info.label}")
                comparison = session.compare({}, (), options.samples, False)
                compilation = session.compile({}, options.targets, options.samples, "inductor")
                verifications.append(Verification(session.info.label, comparison=comparison, compilation=compilation))
    return VerifyReport(tuple(verifications), warnings=tuple(run.warnings), errors=tuple(run.errors))


# ---------------------------------------------------------------------- files


def _roots(paths: Sequence[str]) -> list[str]:
    return [os.path.realpath(path) for path in paths if path != "-"]


def _discover(paths: Sequence[str], run: _Run) -> list[Path]:
    """The files of the call. Raises PipelineError for a path that cannot be used."""
    if run.options.stdin is not None:
        return [Path(os.path.realpath(run.options.stdin_filename or "stdin.py"))]
    try:
        found: Discovered = python_files(paths, run.options)
    except DiscoveryError as error:
        raise PipelineError(str(error)) from error
    run.warnings += found.warnings
    return [Path(os.path.realpath(path)) for path in found.files]


def _read_files(files: Sequence[Path], paths: Sequence[str], run: _Run) -> list[SourceFile]:
    """The files that parse; the others become diagnostics."""
    readable = []
    for path in files:
        try:
            if run.options.stdin is not None:
                source = SourceFile.from_bytes(str(path), run.options.stdin)
            else:
                source = SourceFile.read(path)
            _ = source.tree
        except SourceError as error:
            run.static.append(_syntax_error(error))
        except OSError as error:
            run.errors.append(f"cannot read {path}: {error.strerror}")
        else:
            readable.append(source)
    run.sources = Sources(_roots(paths), {source.filename: source for source in readable})
    return readable


def _static_findings(source: SourceFile, run: _Run) -> Sequence[Diagnostic]:
    """What the static pass says of one file, from the cache where it knows the text."""
    from ddelint.static.checks import check_source, might_matter

    options = run.options
    data = source.encode()
    if not might_matter(data):
        return ()
    cache = Cache(options.cache_folder, salt=str(options.assume_compiled), enabled=options.cache)
    findings = cache.get(source.filename, data)
    if findings is None:
        findings = tuple(check_source(source, assume_compiled=options.assume_compiled))
        cache.put(source.filename, data, findings)
    return findings


def _syntax_error(error: SourceError) -> Diagnostic:
    message = rule("DDE001").message.format(expression=str(error))
    return Diagnostic("DDE001", message, error.span, rule("DDE001").severity, detail=str(error))


# ---------------------------------------------------------------------- entries


def _trace_entries(worker: Worker, specs: Sequence[EntrySpec], paths: Sequence[str], run: _Run) -> None:
    options = run.options
    required = options.mode is Mode.TRACE or options.entry is not None
    waiting = deque(specs)
    while waiting:
        spec = waiting.popleft()
        run.progress.stage(f"loading {_label(spec)}")
        opened = worker.open(_session_options(spec, paths, options))
        if not isinstance(opened, EntryFailure):
            with closing(opened) as session:
                _search(session, run)
                if options.backed:
                    run.traced += _guards(worker.open(replace(session.options, backed=True)), run)
                waiting.extendleft(reversed(_others(spec, session.info.names)))
        elif opened.kind == "no-torch":
            if required:
                raise PipelineError(opened.message)
            run.warnings.append(f"{opened.message}; going on with the static pass alone")
            return
        elif opened.kind in ("missing", "bad-inputs") and required:
            raise PipelineError(opened.message)
        else:
            run.traced.append(_failed(opened, spec, run))


def _guards(opened: Session | EntryFailure, run: _Run) -> list[Diagnostic]:
    from ddelint.trace.guards import guards

    run.progress.stage("looking for guards")
    return guards(opened, run.sources)


def _others(spec: EntrySpec, names: Sequence[str]) -> list[EntrySpec]:
    """A file that offers several entries is opened at its first, which tells of the others."""
    return [replace(spec, entry=name) for name in names[1:]] if spec.entry is None else []


def _entry_specs(paths: Sequence[str], readable: Sequence[SourceFile], options: CheckOptions) -> list[EntrySpec]:
    files = [source.filename for source in readable]
    if options.entry is not None:
        return [_spec(options.entry, files, paths)]
    if options.entries:
        return [_spec(entry, files, paths) for entry in options.entries]
    return [EntrySpec(source.filename) for source in readable if static_offer(source) is not None]


def _spec(option: EntryOption, files: Sequence[str], paths: Sequence[str]) -> EntrySpec:
    filename, name = _split(option.entry)
    inputs_filename, inputs = _split(option.inputs)
    init_filename, init = _split(option.init)
    if filename is None:
        if len(files) != 1:
            raise PipelineError(
                f"--entry {option.entry or '…'}: say which file it is in (FILE.py:NAME), since "
                f"{', '.join(paths)} holds {len(files) or 'no'} files"
            )
        filename = files[0]
    for given in (filename, inputs_filename, init_filename):
        if given is not None and not os.path.isfile(given):
            raise PipelineError(f"no such file: {given}")
    return EntrySpec(filename, name, inputs_filename, inputs, init_filename, init)


def _split(text: str | None) -> tuple[str | None, str | None]:
    """`FILE.py:NAME` → (absolute file, name); `NAME` → (None, name)."""
    if text is None:
        return None, None
    head, colon, tail = text.rpartition(":")
    if colon and head.endswith(REFERRED):
        return os.path.realpath(head), tail
    if text.endswith(REFERRED):
        return os.path.realpath(text), None
    return None, text


def _no_entry(paths: Sequence[str]) -> str:
    return (
        f"no entry in {', '.join(paths)}: define make_inputs(seed) beside a Model or fn, "
        "or name one with --entry FILE.py:NAME --inputs FILE.py:NAME"
    )


# ---------------------------------------------------------------------- scripts

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


def _tell_of(script: ScriptSpec, how: ScriptRun, run: _Run) -> None:
    if how.ending:
        run.warnings.append(f"{script.target} {how.ending}; going on with what it had captured")
    if how.left_out:
        run.warnings.append(f"{how.left_out} more programs that {script.target} called are not looked at")


def _save_inputs(captured: CapturedScript, filename: str, run: _Run) -> None:
    """Raises PipelineError where the file cannot be written."""
    written = captured.save(os.path.abspath(filename))
    if written.failure is not None:
        raise PipelineError(f"cannot write {filename}: {written.failure.message}")
    run.warnings += [f"not saved to {filename}: {text}" for text in written.refused]
    run.progress.note(f"saved {', '.join(written.saved) or 'nothing'} to {filename}")


def _label(spec: EntrySpec) -> str:
    return os.path.basename(spec.filename) + (f":{spec.entry}" if spec.entry else "")


def _worker(options: CheckOptions) -> Worker:
    from ddelint.trace.session import Worker

    return Worker(options.python)


def _session_options(spec: EntrySpec, paths: Sequence[str], options: CheckOptions) -> SessionOptions:
    named = next(
        (
            e.unbacked
            for e in options.entries
            if options.entry is None and e.unbacked and _split(e.entry)[1] == spec.entry
        ),
        None,
    )
    return SessionOptions(
        entry=spec,
        paths=tuple(_roots(paths)),
        targets=options.targets,
        unbacked=named or options.unbacked,
        cpp=options.cpp,
        samples=options.samples,
        seed=options.seed,
        device=options.device,
        timeout=options.timeout,
        memory=options.memory,
    )


def _failed(failure: EntryFailure, spec: EntrySpec, run: _Run) -> Diagnostic:
    from ddelint.trace.diagnose import entry_failed

    filename = failure.span.filename if failure.span is not None else spec.filename
    source = run.sources.get(filename)
    if source is None:
        source = run.sources.get(spec.filename) or SourceFile.read(Path(spec.filename))
    return entry_failed(failure, source)


# ---------------------------------------------------------------------- the search


def _search(session: Session, run: _Run) -> set[str]:
    """Trace, propose and verify for one entry; gives the files under PATHs that it runs."""
    from ddelint.rewrite.search import Search
    from ddelint.trace.diagnose import diagnose

    options = run.options
    run.entries.append(session.info.label)
    run.progress.note(f"running {session.info.label}")
    types = session.types(())
    if types.failure is not None:
        run.traced.append(_failed(types.failure, session.options.entry, run))
        return set()
    ignored = _suppressed(run)
    # what is found late could not be verified any more: the final runs want their share
    enough = time.monotonic() + SEARCH_SHARE * options.timeout
    search = Search(
        session,
        run.sources,
        options.targets,
        samples=options.samples,
        diagnose=diagnose,
        types=types.functions,
        wanted=lambda diagnostic: (
            options.selects(diagnostic.code, diagnostic.span.filename) and not ignored(diagnostic)
        ),
        progress=run.progress.stage,
        start=run.history,
        out_of_time=lambda: time.monotonic() > enough,
    )
    outcome = search.run()
    if outcome.trace.failure is not None:
        run.traced.append(_failed(outcome.trace.failure, session.options.entry, run))
        return set(types.rows)
    if not any(question.kind in ("other", "failure") for question in outcome.trace.questions):
        run.executed.update({name: frozenset(rows) for name, rows in types.rows.items()})
    run.traced += _with_front_ends(session, outcome, run)
    run.traced += _budget(outcome)
    run.history = outcome.everything if options.unsafe_fixes else outcome.safe
    return set(types.rows)


def _with_front_ends(session: Session, outcome: Outcome, run: _Run) -> list[Diagnostic]:
    """The findings with the front ends that ask there, too; and what only those ask, where nothing mends it."""
    from ddelint.trace.diagnose import diagnose
    from ddelint.trace.front_ends import asked_by, front_ends_of

    if not any(diagnostic.asks for diagnostic in outcome.diagnostics):
        return list(outcome.diagnostics)
    run.progress.stage("asking Dynamo")
    enough = time.monotonic() + min(FRONT_ENDS_SECONDS, run.options.timeout / 4)
    asked = [
        asked_by(session, run.sources, target, out_of_time=lambda: time.monotonic() > enough)
        for target in ("strict", "compile")
    ]
    told = [
        replace(found, asks=tuple(dict.fromkeys((*found.asks, *front_ends_of(found.span, asked)))))
        for found in outcome.diagnostics
    ]
    compilation = outcome.compilation
    if compilation is not None and all(result.ok for result in compilation.results):
        return told
    everything = [*run.traced, *told]  # what another entry found is mended in the text that this one was searched in
    mended = [edit.span for found in everything if found.fix is not None for edit in found.fix.edits]
    for question in (question for one in asked for question in one.questions):
        if not any(question.span.overlaps(span) for span in (*mended, *(found.span for found in everything))):
            found = diagnose(question, run.sources[question.span.filename])
            told.append(replace(found, asks=front_ends_of(question.span, asked)))
    return told


def _suppressed(run: _Run) -> Callable[[Diagnostic], bool]:
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


# ---------------------------------------------------------------------- the report


def _report(run: _Run, *, files: int) -> Report:
    options = run.options
    static = [d for d in run.static if not _refuted(d, run)]
    if any(d.code.startswith("DDE6") for d in static):
        from ddelint.rewrite.static_fixes import with_static_fixes

        static = with_static_fixes(static, run.sources)
    findings = merge(static, run.traced)
    findings = _apply_suppressions(findings, run)
    findings = [d for d in findings if options.selects(d.code, d.span.filename)]
    written = dict(run.history.overlay) if run.history is not None else {}
    written = _with_static_fixes(written, findings, run)
    rewritten: dict[str, str] = {}
    diffs: dict[str, str] = {}
    for filename, text in sorted(written.items()):
        before = run.sources[filename]
        if text == before.text:
            continue
        rewritten[filename] = text
        diffs[filename] = unified_diff(filename, before.text, text)
    if options.fix:
        _write(rewritten, run)
        findings = _after_writing(findings, rewritten, run)
    written_now = rewritten if options.fix else {}
    shown = sorted({d.span.filename for d in findings if d.span.filename in run.sources})
    return Report(
        diagnostics=tuple(findings),
        texts={name: written_now.get(name, run.sources[name].text) for name in shown},
        diffs=diffs,
        rewritten=rewritten,
        files_checked=files,
        entries=tuple(run.entries),
        notes=tuple(run.notes),
        warnings=tuple(run.warnings),
        errors=tuple(run.errors),
    )


def _after_writing(findings: Sequence[Diagnostic], rewritten: Mapping[str, str], run: _Run) -> list[Diagnostic]:
    """Fixed findings marked as such; the others with their positions in the new text."""
    allowed = {Applicability.SAFE} | ({Applicability.UNSAFE} if run.options.unsafe_fixes else set())
    told: list[Diagnostic] = []
    for finding in findings:
        if finding.span.filename not in rewritten:
            told.append(finding)
        elif finding.fix is not None and finding.fix.applicability in allowed:
            told.append(replace(finding, fixed=True))
        elif finding.origin != ("static",):
            told.append(finding.relocated(run.history.forward) if run.history is not None else finding)
    for filename, text in rewritten.items():
        source = SourceFile(filename, text, run.sources[filename].encoding)
        known = [finding.span for finding in told if not finding.fixed and finding.span.filename == filename]
        again = suppressions.apply(source, list(_static_findings(source, run)))
        told += [
            new
            for new in again
            if run.options.selects(new.code, filename)
            and not rule(new.code).refutable
            and not any(new.span.overlaps(span) for span in known)
        ]
    return told


def _refuted(diagnostic: Diagnostic, run: _Run) -> bool:
    """A static finding of a question on a row that the tracer ran without being asked there."""
    if not rule(diagnostic.code).refutable:
        return False
    rows = run.executed.get(diagnostic.span.filename)
    return rows is not None and diagnostic.span.row in rows


def _apply_suppressions(findings: list[Diagnostic], run: _Run) -> list[Diagnostic]:
    kept: list[Diagnostic] = []
    by_file: dict[str, list[Diagnostic]] = {name: [] for name in run.sources}
    for finding in findings:
        by_file.setdefault(finding.span.filename, []).append(finding)
    for filename, group in sorted(by_file.items()):
        source = run.sources.get(filename)
        kept += suppressions.apply(source, group, traced=filename in run.executed) if source is not None else group
    return kept


def _with_static_fixes(written: dict[str, str], findings: Sequence[Diagnostic], run: _Run) -> dict[str, str]:
    """Fixes of the static pass alone are written only to files that the search left as they were."""
    edits: dict[str, list[Diagnostic]] = {}
    for finding in findings:
        fix = finding.fix
        if fix is None or finding.origin != ("static",) or finding.span.filename in written:
            continue
        if fix.applicability is Applicability.SAFE or run.options.unsafe_fixes:
            edits.setdefault(finding.span.filename, []).append(finding)
    for filename, group in edits.items():
        source = run.sources[filename]
        taken = [edit for finding in group if finding.fix is not None for edit in finding.fix.edits]
        written[filename] = source.apply(list(dict.fromkeys(taken)))
    return written


def _write(rewritten: Mapping[str, str], run: _Run) -> None:
    from ddelint.files import write_atomically

    for filename, text in rewritten.items():
        if run.options.stdin is not None:
            continue
        try:
            write_atomically(Path(filename), run.sources[filename].encode(text))
        except OSError as error:
            raise PipelineError(f"cannot write {filename}: {error.strerror}") from error
