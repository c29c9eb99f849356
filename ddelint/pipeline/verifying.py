"""`verify`: eager against every target, two versions against each other, and with `--bench` the time that they take."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from ddelint.nouns.measurements import FIXED, ORIGINAL, Benchmark
from ddelint.nouns.protocol import EntryFailure
from ddelint.pipeline import advice
from ddelint.pipeline.entries import entry_specs, label, others, session_options
from ddelint.pipeline.gathering import PipelineError, Run, Sources, discover, read_files
from ddelint.pipeline.gpu_code import gpu_code, wanted
from ddelint.pipeline.searching import search
from ddelint.pipeline.sessions import open_entry, start_worker
from ddelint.pipeline.versions import other_version
from ddelint.report.model import Progress
from ddelint.report.verified import Verification, VerifyReport
from ddelint.settings.options import CheckOptions

if TYPE_CHECKING:
    from ddelint.rewrite.search.history import History
    from ddelint.trace.session import Session


def run_verify(
    paths: Sequence[str],
    options: CheckOptions,
    progress: Progress,
    *,
    bench: bool = False,
    against: str | None = None,
) -> VerifyReport:
    """Compare eager with export and compile; no source change. Raises PipelineError (one line, exit code 2).

    `against` (a file, or a git revision) is the version that counts as the original; else the files as they are.
    `bench` measures the original and the fixed program: the files as they are with `against`, else what `--fix` would
    make of them (in memory).
    """
    run = Run(options, progress, Sources((), {}))
    readable = read_files(discover(paths, run), paths, run)
    specs = entry_specs(paths, readable, options)
    if not specs:
        raise PipelineError(advice.no_entry(paths, readable))
    before = other_version(against, readable) if against is not None else {}
    if against is not None and not before:
        run.warnings.append(f"--against {against}: the files have the same text there")
    versions = _Versions(before, {name: run.sources[name].text for name in before}, against or "", bench)
    verifications: list[Verification] = []
    waiting = deque(specs)
    with start_worker(options) as worker:
        while waiting:
            spec = waiting.popleft()
            progress.stage(f"loading {label(spec)}")
            opened = open_entry(worker, session_options(spec, paths, options), progress)
            if isinstance(opened, EntryFailure):
                if opened.kind == "no-torch":
                    raise PipelineError(opened.message)
                verifications.append(Verification(label(spec), failure=opened))
                continue
            with closing(opened) as session:
                waiting.extendleft(reversed(others(spec, session.info.names)))
                verifications.append(_verified(session, versions, run))
    return VerifyReport(tuple(verifications), warnings=tuple(run.warnings), errors=tuple(run.errors))


class _Versions:
    """The two programs: overlays over what is on disk."""

    def __init__(self, original: Mapping[str, str], fixed: Mapping[str, str], against: str, bench: bool) -> None:
        self.original = dict(original)
        self.fixed = dict(fixed)
        self.against = against
        self.bench = bench


def _verified(session: Session, versions: _Versions, run: Run) -> Verification:
    options, progress = run.options, run.progress
    original, fixed, versus = versions.original, versions.fixed, ""
    if versions.against:
        versus = f"original: {versions.against}; fixed: the files as they are"
    elif versions.bench:
        fixed, versus = _fixed(session, run)
    if not versions.bench or versions.against:
        progress.note(f"running {session.info.label}")
    if not versions.bench:
        with session.limited(options.timeout):
            return _compared(session, fixed, versions, run)
    found = _compared(session, fixed, versions, run)
    measured = []
    for which in (ORIGINAL, FIXED):
        progress.stage(f"measuring the {which} program")
        measured.append(session.measure(fixed, which, parity=True, original=original))
    failure = next((one.failure for one in measured if one.failure is not None), None)
    date = datetime.now(UTC).isoformat(timespec="seconds")
    benchmark = Benchmark(session.info.label, date, tuple(measured), versus, failure=failure)
    return replace(found, benchmark=benchmark, parity=benchmark.parity)


def _compared(session: Session, fixed: Mapping[str, str], versions: _Versions, run: Run) -> Verification:
    """What every target makes of the program, and for one that is compiled, what unbacked sizes cost."""
    options, progress, original = run.options, run.progress, versions.original
    progress.stage("comparing")
    comparison = session.compare(fixed, (), options.samples, False, original=original)
    progress.stage("exporting and compiling")
    compilation = session.compile(fixed, options.targets, options.samples, "inductor", original=original)
    if wanted(options, session.info):
        progress.stage("looking at the code for a GPU")
    code = gpu_code(session, fixed, options, original=original)
    found = Verification(session.info.label, comparison=comparison, compilation=compilation, gpu=code)
    compiles = any(result.target == "compile" and not result.error for result in compilation.results)
    if versions.bench or not compiles or not session.info.unbacked:
        return found
    progress.stage("comparing unbacked with backed")
    return replace(found, parity=session.parity(fixed, timed=False, original=original))


def _overlay(history: History | None) -> dict[str, str]:
    return dict(history.overlay) if history is not None else {}


def _fixed(session: Session, run: Run) -> tuple[dict[str, str], str]:
    """What `--fix` would make of the files, and how to call it."""
    run.traced.clear()
    run.history = None
    with session.limited(run.options.timeout):
        search(session, run)
    overlay = _overlay(run.history)
    fixes = sum(found.fix is not None and bool(found.fix.edits) for found in run.traced)
    if not overlay:
        return {}, "original and fixed are the same: there is nothing that --fix would write"
    flag = "--fix --unsafe-fixes" if run.options.unsafe_fixes else "--fix"
    return overlay, f"fixed: what {flag} makes of it ({fixes} {'fix' if fixes == 1 else 'fixes'})"
