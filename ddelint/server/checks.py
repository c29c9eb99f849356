"""What the server asks of the pipeline: the static pass over a buffer, a trace of the entry under the cursor."""

from __future__ import annotations

import ast
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from ddelint.errors import DdelintError
from ddelint.nouns.diagnostics import Diagnostic, Span
from ddelint.pipeline import run_check
from ddelint.report.model import Report, Silence
from ddelint.server.entry_points import EntryPoint, entry_points
from ddelint.settings import config
from ddelint.settings.discovery import python_files
from ddelint.settings.options import CheckOptions, EntryOption, Mode, Reference
from ddelint.sources.source import SourceError, SourceFile
from ddelint.trace.offers import static_offer


class Cancelled(Exception):
    """Nobody waits for the answer any more."""


@dataclass(frozen=True)
class Checked:
    """What is known of one text of a file."""

    text: str
    diagnostics: tuple[Diagnostic, ...] = ()
    """Findings in this file."""
    fixed: str | None = None
    """The text after all safe fixes; None where there is none."""
    traced: bool = False
    report: Report = field(default_factory=Report)


def check_text(path: Path, text: str) -> Checked:
    """The static pass over a text that need not be on disk. Raises DdelintError."""
    options = _options(path)
    if path.is_file() and not python_files([str(path)], replace(options, force_exclude=True)).files:
        return Checked(text)
    options = replace(
        options, mode=Mode.STATIC, stdin=SourceFile(str(path), text).encode(), stdin_filename=str(path), cache=False
    )
    return _checked(path, text, run_check(["-"], options, Silence()))


def trace_file(
    path: Path,
    text: str,
    row: int,
    show: Callable[[str], None],
    found: Callable[[Checked], None],
    cancelled: threading.Event,
) -> Checked:
    """Both passes over a file that is saved as `text`, tracing the entry that stands at a row.

    `show` hears what is being done, `found` what is known before there are fixes. Raises DdelintError, also where there
    is no entry; Cancelled.
    """
    options = _about_entry_at(path, text, row, replace(_options(path), mode=Mode.TRACE))
    name = str(path.resolve())

    def known(findings: Iterable[Diagnostic]) -> None:
        found(Checked(text, tuple(sorted((d for d in findings if d.span.filename == name), key=lambda d: d.span))))

    report = run_check([str(path)], options, _Progress(show, known, cancelled))
    return replace(_checked(path, text, report), traced=True)


class _Progress(Silence):
    """Hands on what is being done and found, and is where a trace that nobody wants any more ends."""

    def __init__(
        self, show: Callable[[str], None], known: Callable[[Iterable[Diagnostic]], None], cancelled: threading.Event
    ) -> None:
        self._show = show
        self._known = known
        self._cancelled = cancelled
        self._findings: dict[tuple[Span, str], Diagnostic] = {}
        self._handed_on = 0

    def finding(self, diagnostic: Diagnostic, outcome: str = "") -> None:
        """Kept until the next step begins: what is found together is shown together."""
        self._findings.setdefault((diagnostic.span, diagnostic.code), diagnostic)

    def stage(self, text: str) -> None:
        """Called before each step."""
        if self._cancelled.is_set():
            raise Cancelled
        if len(self._findings) > self._handed_on:
            self._handed_on = len(self._findings)
            self._known(self._findings.values())
        self._show(text)


def entries_in(path: Path, text: str) -> list[EntryPoint]:
    """What the file has that can be traced. Raises DdelintError where the configuration cannot be read."""
    return entry_points(path, text, _options(path).entries)


def _options(path: Path) -> CheckOptions:
    folder = path.parent
    while not folder.is_dir() and folder != folder.parent:
        folder = folder.parent
    return config.resolve(config.discover(folder), {"jobs": 1})


def _checked(path: Path, text: str, report: Report) -> Checked:
    if report.errors:
        raise DdelintError("; ".join(report.errors))
    name = str(path.resolve())
    here = tuple(found for found in report.remaining if found.span.filename == name)
    return Checked(text, here, report.rewritten.get(name), report=report)


def _about_entry_at(path: Path, text: str, row: int, options: CheckOptions) -> CheckOptions:
    """The options with the entry that the definition around a row is: as the configuration names it, or by itself.

    They stay as they are where the file offers its own entry, or there is no definition at the row.
    """
    source = SourceFile(str(path), text)
    name = _definition_at(source, row)
    here: dict[str | None, EntryOption] = {}
    for entry in options.entries:
        reference = Reference.parse(entry.entry or "")
        if reference.filename is not None and Path(reference.filename).resolve() == path.resolve():
            here[reference.name] = entry
    if name in here:
        return replace(options, entries=(here[name],))
    if here:
        return replace(options, entries=tuple(here.values()))
    if static_offer(source) is not None:
        return replace(options, entries=())
    return options if name is None else replace(options, entries=(), entry=EntryOption(entry=f"{path}:{name}"))


def _definition_at(source: SourceFile, row: int) -> str | None:
    """The name of the top-level class or function around a row."""
    try:
        body = source.tree.body
    except SourceError:
        return None
    for node in body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and node.lineno <= row <= (node.end_lineno or row):
            return node.name
    return None
