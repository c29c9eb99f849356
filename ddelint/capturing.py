"""`ddelint.capture()`: what is compiled in a block of this very process, checked at the block's end.

This module runs where torch is loaded already (a notebook, a test); it is imported by nothing else.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import Self

from ddelint.errors import DdelintError
from ddelint.pipeline.entries import session_options
from ddelint.pipeline.gathering import Run, Sources, roots, static_findings
from ddelint.pipeline.reporting import report
from ddelint.pipeline.scripts import check_programs
from ddelint.report.model import Progress, Report
from ddelint.settings.options import CheckOptions

NOTHING = (
    "nothing to check: the block made no call of what it compiles (torch.compile) or exports; "
    "what was compiled before it is seen where it is a module (`modules=` captures others by class name)"
)


class Capturing:
    """The context manager of `ddelint.capture()`. `report` holds what was found, once the block is over."""

    def __init__(self, paths: Sequence[str], patterns: Sequence[str], options: CheckOptions, progress: Progress):
        self.report: Report | None = None
        """What was found; None before the block's end."""
        self._paths = paths
        self._patterns = patterns
        self._options = options
        self._progress = progress

    def __enter__(self) -> Self:
        from ddelint.trace import live

        self._recorder = live.recorder_of(self._patterns)
        self._listening = ExitStack()
        self._listening.enter_context(live.recording(self._recorder))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listening.close()
        if error is not None and not isinstance(error, Exception):
            return
        if self._recorder.captures:
            try:
                self.report = _checked(self._recorder, self._paths, self._options, self._progress)
            except DdelintError as problem:
                if error is None:
                    raise
                error.add_note(f"ddelint could not check what was captured before this: {problem}")
                return
            if error is not None and self.report.remaining:
                error.add_note(f"ddelint captured what was compiled before this: {self.report!r}")
        elif error is None:
            raise DdelintError(NOTHING)

    def __repr__(self) -> str:
        return repr(self.report) if self.report is not None else "<ddelint.capture: the block is not over>"

    def __str__(self) -> str:
        return str(self.report) if self.report is not None else repr(self)

    def _repr_html_(self) -> str | None:
        """What a notebook shows."""
        return self.report._repr_html_() if self.report is not None else None


def _checked(recorder: object, paths: Sequence[str], options: CheckOptions, progress: Progress) -> Report:
    """The report on what a recorder kept, as `ddelint run` makes it. Raises DdelintError."""
    from ddelint.trace import capture, cells, live

    assert isinstance(recorder, capture.Recorder)
    with cells.written() as written:
        files = tuple(written.files)
        run = Run(options, progress, Sources([*roots(paths), *files], {}))
        spec = live.entry_spec()
        given = live.session_options(session_options(spec, paths, options), files)
        if recorder.left_out:
            run.warnings.append(f"{recorder.left_out} more programs that were called are not looked at")
        with live.LiveCaptures(recorder, given, written) as captured:
            reached = check_programs(captured, spec, run)
        for filename in sorted(reached):
            if filename in run.sources:
                run.static += static_findings(run.sources[filename], run)
        found = report(run, files=len(reached))
        return _shown(found, written.files)


def _shown(found: Report, names: dict[str, str]) -> Report:
    """The report with cells called by their numbers."""
    if not names:
        return found
    from dataclasses import replace

    from ddelint.nouns.diagnostics import Span

    def named(span: Span) -> Span:
        return replace(span, filename=names.get(span.filename, span.filename))

    return replace(
        found,
        diagnostics=tuple(diagnostic.relocated(named) for diagnostic in found.diagnostics),
        texts={names.get(filename, filename): text for filename, text in found.texts.items()},
        diffs={names.get(name, name): _headed(diff, name, names) for name, diff in found.diffs.items()},
        rewritten={names.get(filename, filename): text for filename, text in found.rewritten.items()},
    )


def _headed(diff: str, filename: str, names: dict[str, str]) -> str:
    """A diff that calls a cell by its number."""
    name = names.get(filename)
    if name is None:
        return diff
    shown = os.path.basename(filename)
    lines = diff.splitlines(keepends=True)
    return "".join(
        f"{line[:4]}{name}\n" if number < 2 and line.rstrip().endswith(shown) else line
        for number, line in enumerate(lines)
    )
