"""What one call gathers: the files under its paths, and what is found in them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from ddelint.errors import DdelintError
from ddelint.report.model import Progress
from ddelint.settings.discovery import STDIN, Discovered, DiscoveryError, is_left_out, python_files
from ddelint.settings.options import CheckOptions

if TYPE_CHECKING:
    from ddelint.nouns.diagnostics import Diagnostic, Fix, Span
    from ddelint.nouns.readings import Reading
    from ddelint.pipeline.caches import Caches
    from ddelint.rewrite.search.history import History
    from ddelint.sources.source import SourceFile
    from ddelint.static.program.project import Project
    from ddelint.static.program.survey import Asked


class PipelineError(DdelintError):
    """What keeps the tool from doing its work; the message is one line for the user (exit code 2)."""


class Sources(Mapping[str, "SourceFile"]):
    """The files under the given PATHs, read when they are first asked for, parsed when their tree is."""

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
        from ddelint.sources.source import SourceError, SourceFile  # a call over files that are known reads none

        try:
            return SourceFile.read(Path(filename))
        except (OSError, SourceError):
            return None


@dataclass
class Run:
    """What one call gathers."""

    options: CheckOptions
    progress: Progress
    sources: Sources
    static: list[Diagnostic] = field(default_factory=list)
    traced: list[Diagnostic] = field(default_factory=list)
    history: History | None = None
    """The files after the fixes that the options allow, entry after entry."""
    open_fixes: dict[tuple[Span, str], tuple[Fix, History]] = field(default_factory=dict)
    """What may still be fixed once the safe fixes are written: by original place and rule, against which texts."""
    written_beside: set[tuple[Span, str]] = field(default_factory=set)
    """Findings of the static pass, by original place and rule, whose fixes were written into what a search wrote."""
    entries: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    executed: dict[str, frozenset[int]] = field(default_factory=dict)
    """Filename → rows that a traced entry ran."""
    reached: set[str] = field(default_factory=set)
    """The files that traced entries ran, to their end or not."""
    named: frozenset[str] = frozenset()
    """The files that the call names, as against those that are found in folders."""
    bases: dict[str, str | None] = field(default_factory=dict)
    """Filename → its text at the revision of `--diff-base`, as far as asked for; None: not there."""
    checked: frozenset[str] = frozenset()
    """The files that the call is about."""
    linked: frozenset[str] = frozenset()
    """Those outside of the given paths, which links in there lead to: they are read, never written."""
    unread: set[str] = field(default_factory=set)
    """Those that the static pass did not (or could not) look at: what it would have found is not known."""
    project: Project | None = None
    """What the files say of each other; None where one is read alone."""
    compiled: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Filename → its functions that other files compile."""
    caches: Caches | None = None
    """What earlier calls found; None where no file on disk is checked."""

    @cached_property
    def traceable(self) -> bool:
        """Whether a run that traces would trace something here: what it finds, this one may not know."""
        if self.entries or self.options.entry is not None or self.options.entries:
            return True
        from ddelint.trace.offers import static_offer

        return any(source is not None and static_offer(source) is not None for source in map(self._text, self.checked))

    def _text(self, filename: str) -> SourceFile | None:
        """A file that is looked at for once: `sources` keeps what it reads."""
        from ddelint.sources.source import SourceError, SourceFile

        if self.options.stdin is not None:
            return self.sources.get(filename)
        try:
            return SourceFile.read(Path(filename))
        except (OSError, SourceError):
            return None


def roots(paths: Sequence[str]) -> list[str]:
    """The given paths, absolute, symbolic links resolved."""
    return [os.path.realpath(path) for path in paths if path != "-"]


def discover(paths: Sequence[str], run: Run) -> list[Path]:
    """The files of the call, each once. Raises PipelineError for a path that cannot be used."""
    if run.options.stdin is not None:
        name = run.options.stdin_filename or "stdin.py"
        if name != STDIN and is_left_out(Path(os.path.abspath(name)), run.options, run.warnings):
            return []
        return [Path(os.path.realpath(name))]
    try:
        found: Discovered = python_files(paths, run.options)
    except DiscoveryError as error:
        raise PipelineError(str(error)) from error
    run.warnings += found.warnings
    run.errors += found.errors
    # a link may lead to one of the others
    files = dict.fromkeys(Path(os.path.realpath(path)) for path in found.files)
    above = roots(paths)
    run.linked = frozenset(str(path) for path in files if not any(path.is_relative_to(root) for root in above))
    return list(files)


def read_files(files: Sequence[Path], paths: Sequence[str], run: Run) -> list[SourceFile]:
    """The files that can be read, with those named by the user parsed; what cannot be read is an error.

    A file that does not parse is left out: the static pass reports it.
    """
    from ddelint.sources.source import SourceError, SourceFile

    readable = []
    named = named_files(paths)
    for path in files:
        try:
            if run.options.stdin is not None:
                source = SourceFile.from_bytes(str(path), run.options.stdin)
            else:
                source = SourceFile.read(path)
            if run.options.stdin is not None or str(path) in named:
                _ = source.tree
        except SourceError:
            continue
        except OSError as error:
            run.errors.append(f"cannot read {path}: {error.strerror}")
        else:
            readable.append(source)
    run.sources = Sources(roots(paths), {source.filename: source for source in readable})
    return readable


def named_files(paths: Sequence[str]) -> frozenset[str]:
    """The files among the given paths, as against those that are found in folders."""
    return frozenset(path for path in roots(paths) if not os.path.isdir(path))


def unsilenced(source: SourceFile, found: Sequence[Diagnostic], run: Run) -> list[Diagnostic]:
    """What no comment in the file silences, and the comments that silence nothing, as far as the run can know."""
    from ddelint.settings import suppressions  # a clean file pays for none of it

    filename = source.filename
    reported = suppressions.apply(source, found, traced=filename in run.executed, traceable=lambda: run.traceable)
    return [d for d in reported if d.code != suppressions.UNUSED or filename not in run.unread]


def static_findings(source: SourceFile, run: Run) -> Sequence[Diagnostic]:
    """What the static pass says of a text that need not be on disk: a file that was rewritten."""
    return static_reading(source.filename, source.encode(), run).findings


def static_findings_of_stdin(path: Path, run: Run) -> Sequence[Diagnostic]:
    """What the static pass says of what standard input gave."""
    return static_reading(str(path), run.options.stdin or b"", run).findings


def static_reading(filename: str, data: bytes, run: Run, *, parse: bool = True) -> Reading:
    """What the static pass reads in bytes that need not be on disk, among the other files of the call.

    Without `parse`, they are known to be Python.
    """
    from ddelint.static.reading import read

    project = run.project if run.project is not None and run.project.holds(filename) else None
    roots = run.compiled.get(filename, ())
    return read(filename, data, asked(filename, run), parse=parse, project=project, roots=roots)


def asked(path: str, run: Run) -> Asked:
    """What of the file is to be taken as compiled."""
    from ddelint.static.program.survey import Asked

    options = run.options.at(path)
    return Asked(options.assume_compiled, options.compiled, options.root, options.public_functions)
