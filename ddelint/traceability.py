"""Whether one program traces and compiles, for the sizes that a spec says: what `assert_traceable` asserts."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

from ddelint.errors import DdelintError
from ddelint.nouns.diagnostics import Diagnostic, Question
from ddelint.nouns.protocol import Compilation, EntryFailure
from ddelint.nouns.size_specs import CheckedSpec, SizeSpec
from ddelint.pipeline.gathering import Run, Sources, roots
from ddelint.pipeline.opening import Call, Opened, files_of, opened, parameters_of
from ddelint.pipeline.reporting import report
from ddelint.pipeline.searching import entry_failure, search
from ddelint.pipeline.spec_holding import held
from ddelint.report import verification
from ddelint.report.contracts import checked_text
from ddelint.report.model import Report, Silence
from ddelint.report.notebook import text
from ddelint.report.style import Style
from ddelint.report.verified import Verification, VerifyReport
from ddelint.settings.options import CheckOptions, EntryOption
from ddelint.sources.source import SourceError, SourceFile
from ddelint.trace.session import Session


class NotTraceable(AssertionError):
    """The program asks, or does not compile; `report` holds what asks, `sizes` what is wrong with a spec."""

    def __init__(self, message: str, found: Report, sizes: CheckedSpec | None = None) -> None:
        super().__init__(message)
        self.report = found
        self.sizes = sizes


@dataclass(frozen=True)
class Sizes:
    """A spec that a program is held against."""

    spec: Any
    """A ShapesSpec, `dynamic_shapes` of export, or the `FILE.py:NAME` of one."""
    exact: bool = False
    """Whether it must allow everything that the program takes."""


def require_traceable(
    program: Call | EntryOption,
    paths: Sequence[str],
    options: CheckOptions,
    *,
    backend: str = "eager",
    fixes: bool = False,
    sizes: Sizes | None = None,
) -> None:
    """Trace the program on all its paths, and through the targets of `options`. Raises NotTraceable, or DdelintError.

    `backend` is what torch.compile compiles with (`eager`: Dynamo alone). `fixes`: look for what would fix it, too,
    which takes longer. `sizes`: which sizes inputs may have is the spec's matter, and it must be true of the program.
    """
    files = [*roots(paths), *files_of(program)]
    if sizes is not None:
        options = replace(options, unbacked="none")
        sizes = replace(sizes, spec=_read(sizes.spec, parameters_of(program)))
    run = Run(options, Silence(), Sources(files, {}))
    with opened(program, files, options) as found:
        _require_compiled(found, run, backend, fixes)
    if sizes is not None:
        with opened(program, files, replace(options, unbacked="all")) as found:
            _require_sizes(found, run, sizes)


def _require_compiled(found: Opened, run: Run, backend: str, fixes: bool) -> None:
    session = _session(found, run)
    findings, compilation = _asked(session, run, backend)
    if fixes and findings:
        with session.limited(run.options.timeout):
            search(session, run)
        shown = report(run, files=0)
    else:
        names = {d.span.filename for d in findings} & set(run.sources)
        shown = Report(tuple(findings), {name: run.sources[name].text for name in names})
    lines = _other_failures(found.label, compilation) if not findings else []
    if findings or lines:
        raise NotTraceable("\n".join([*([text(shown)] if findings else []), *lines]), shown)


def _require_sizes(found: Opened, run: Run, sizes: Sizes) -> None:
    session = _session(found, run)
    contract = session.contract({})
    if contract.failure is not None:
        raise _failed(contract.failure, found, run)
    spec = _declared(session, sizes.spec) if isinstance(sizes.spec, str) else sizes.spec
    options = run.options
    checked = held(session, contract, spec, exact=sizes.exact, samples=options.samples, seed=options.seed)
    if checked.error or checked.findings or (sizes.exact and checked.undecided):
        said = checked_text([checked], contract.example, Style())
        raise NotTraceable("\n".join([f"{found.label}:", *said]), Report(()), checked)


def _read(wanted: Any, parameters: Sequence[str]) -> SizeSpec | str:
    """The spec that was given, or its name. Raises DdelintError for anything else."""
    if isinstance(wanted, (str, PathLike)):
        return os.fspath(wanted)
    from ddelint.shapes.declared import spec_in

    spec = spec_in(wanted, "the spec", parameters)
    if spec is None:
        raise DdelintError("spec: neither a ShapesSpec, nor `dynamic_shapes` with Dims, nor FILE.py:NAME")
    return spec


def _declared(session: Session, wanted: str) -> SizeSpec:
    """The spec of that name. Raises DdelintError where there is none."""
    declared = session.declared(wanted)
    if declared.failure is not None:
        raise DdelintError(f"spec {wanted}: {declared.failure.message}")
    if len(declared.specs) != 1:
        raise DdelintError(f"spec {wanted}: {len(declared.specs) or 'no'} specs have that name")
    return declared.specs[0]


def _session(found: Opened, run: Run) -> Session:
    if isinstance(found.session, EntryFailure):
        raise _failed(found.session, found, run)
    return found.session


def _failed(failure: EntryFailure, found: Opened, run: Run) -> NotTraceable:
    if failure.kind == "no-torch":
        raise DdelintError(failure.message)
    shown = Report((entry_failure(failure, found.spec, run),))
    return NotTraceable(text(shown), shown)


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
