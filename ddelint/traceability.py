"""Whether one program of this process traces and compiles: what `assert_traceable` asserts."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ddelint.diagnostics import Diagnostic, Question
from ddelint.errors import DdelintError
from ddelint.options import CheckOptions
from ddelint.pipeline.entries import session_options
from ddelint.pipeline.gathering import Run, Sources, roots
from ddelint.pipeline.reporting import report
from ddelint.pipeline.searching import entry_failure, search
from ddelint.protocol import Compilation, EntryFailure
from ddelint.report import verification
from ddelint.report.model import Report, Silence
from ddelint.report.notebook import text
from ddelint.report.style import Style
from ddelint.report.verified import Verification, VerifyReport
from ddelint.source import SourceError, SourceFile
from ddelint.trace.session import Session


class NotTraceable(AssertionError):
    """The program asks, or does not compile; `report` holds what asks."""

    def __init__(self, message: str, found: Report) -> None:
        super().__init__(message)
        self.report = found


@dataclass(frozen=True)
class Call:
    """A program and the arguments of one call."""

    program: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]


def require_traceable(
    call: Call, paths: Sequence[str], options: CheckOptions, *, backend: str = "eager", fixes: bool = False
) -> None:
    """Trace the program on all its paths, and through the targets of `options`. Raises NotTraceable, or DdelintError.

    `backend` is what torch.compile compiles with (`eager`: Dynamo alone). `fixes`: look for what would fix it, too,
    which takes longer. All of it happens in forks of this process.
    """
    from ddelint.trace import cells, live

    recorder = live.recorder_of(())
    recorder.given(call.program, call.args, dict(call.kwargs))
    if not recorder.captures:
        raise DdelintError(f"{call.program!r} cannot be traced: it is no function or module of yours")
    files = [*roots(paths), *_files_of(call.program)]
    run = Run(options, Silence(), Sources(files, {}))
    spec = live.entry_spec()
    with cells.written() as written:
        given = live.session_options(session_options(spec, files, options), tuple(written.files))
        with live.LiveCaptures(recorder, given, written) as captured:
            label = captured.run.captures[0].label
            opened = captured.open(0)
            if isinstance(opened, EntryFailure):
                failed = replace(spec, filename=captured.run.captures[0].filename)
                found = Report((entry_failure(opened, failed, run),))
                raise NotTraceable(text(found), found)
            findings, compilation = _asked(opened, run, backend)
            if fixes and findings:
                search(opened, run)
                found = report(run, files=0)
            else:
                shown = {d.span.filename for d in findings} & set(run.sources)
                found = Report(tuple(findings), {name: run.sources[name].text for name in shown})
    lines = _other_failures(label, compilation) if not findings else []
    if findings or lines:
        raise NotTraceable("\n".join([*([text(found)] if findings else []), *lines]), found)


def _asked(session: Session, run: Run, backend: str) -> tuple[list[Diagnostic], Compilation | None]:
    """What the fake run asks; where it asks nothing, what the targets themselves do."""
    traced = session.trace({})
    if traced.failure is not None:
        return [entry_failure(traced.failure, session.options.entry, run)], None
    findings = _diagnosed(traced.questions, run)
    if findings:
        return findings, None
    compilation = session.compile({}, run.options.targets, run.options.samples, backend)
    if compilation.failure is not None:
        return [entry_failure(compilation.failure, session.options.entry, run)], compilation
    return _diagnosed([q for result in compilation.results for q in result.questions], run), compilation


def _diagnosed(questions: Sequence[Question], run: Run) -> list[Diagnostic]:
    from ddelint.trace.diagnose import diagnose

    found: dict[object, Diagnostic] = {}
    for question in questions:
        source = run.sources.get(question.span.filename)
        if source is None:
            with suppress(OSError, SourceError):
                source = SourceFile.read(Path(question.span.filename))
        if source is not None:
            diagnostic = diagnose(question, source)
            found.setdefault((diagnostic.code, diagnostic.span), diagnostic)
    return list(found.values())


def _other_failures(label: str, compilation: Compilation | None) -> list[str]:
    """What does not compile, or gives another result, without anything being asked."""
    if compilation is None:
        return []
    failing = any(not result.ok or result.mismatches for result in compilation.results)
    if not failing and not compilation.mismatches and compilation.backward is not False:
        return []
    return list(verification.render_text(VerifyReport((Verification(label, compilation=compilation),)), Style()))


def _files_of(program: Callable[..., Any]) -> list[str]:
    """The file that defines the program."""
    code: Any = inspect.unwrap(program)
    with suppress(TypeError, OSError):
        return roots([inspect.getsourcefile(code if inspect.isroutine(code) else type(code)) or "-"])
    return []
