"""What a baseline knows is left out of a report; what it knows and nothing matches any more is reported."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from ddelint.knowledge.catalog import rules
from ddelint.nouns.diagnostics import Diagnostic
from ddelint.pipeline import baseline
from ddelint.pipeline.gathering import Run
from ddelint.sources.source import SourceError, SourceFile

TOLD = 5
"""So many entries that match nothing are named."""
NOTHING_REWRITTEN: Mapping[str, str] = {}


def without_known(findings: Sequence[Diagnostic], run: Run) -> list[Diagnostic]:
    """The findings that the call's baseline doesn't know. Raises BaselineError, before anything is written."""
    filename = run.options.baseline
    if run.options.write_baseline is not None:
        baseline.read_older(run.options.write_baseline)
        return list(findings)
    if filename is None:
        return list(findings)
    compared = baseline.compare(findings, _Lines(run), filename, _Expected(run))
    if compared.known:
        run.notes.append(f"{_counted(compared.known, 'finding')} known to {_shown(filename)}")
    if compared.stale:
        named = ", ".join(entry.place for entry in compared.stale[:TOLD])
        more = f" and {len(compared.stale) - TOLD} more" if len(compared.stale) > TOLD else ""
        matches = "matches" if len(compared.stale) == 1 else "match"
        count = _counted(len(compared.stale), "entry", "entries")
        run.warnings.append(
            f"{count} of {_shown(filename)} {matches} nothing any more ({named}{more}): "
            f"`--write-baseline {_shown(filename)}` drops what is gone"
        )
    return list(compared.new)


def new_after_writing(findings: Sequence[Diagnostic], rewritten: Mapping[str, str], run: Run) -> list[Diagnostic]:
    """Likewise for findings in files that this call has rewritten; nothing is reported again."""
    filename = run.options.baseline
    if filename is None or run.options.write_baseline is not None or not findings:
        return list(findings)
    return list(baseline.compare(findings, _Lines(run, rewritten), filename, lambda *_: False).new)


def write(findings: Sequence[Diagnostic], rewritten: Mapping[str, str], run: Run) -> list[Diagnostic]:
    """Make all open findings known, where the call says so; what is left is what was fixed. Raises BaselineError."""
    filename = run.options.write_baseline
    if filename is None:
        return list(findings)
    open_ = [finding for finding in findings if not finding.fixed]
    count = baseline.write(open_, _Lines(run, rewritten), filename, _Expected(run))
    run.notes.append(
        f"wrote {_shown(filename)}: {_counted(count, 'finding')}; check with --baseline {_shown(filename)}"
    )
    return [finding for finding in findings if finding.fixed]


class _Lines:
    """Filename → the lines that spans count in."""

    def __init__(self, run: Run, rewritten: Mapping[str, str] = NOTHING_REWRITTEN) -> None:
        self._run = run
        self._rewritten = rewritten
        self._known: dict[str, Sequence[str]] = {}

    def __call__(self, filename: str) -> Sequence[str]:
        if filename not in self._known:
            self._known[filename] = self._read(filename)
        return self._known[filename]

    def _read(self, filename: str) -> Sequence[str]:
        if filename in self._rewritten:
            return SourceFile(filename, self._rewritten[filename]).lines
        source = self._run.sources.get(filename)
        if source is None:
            try:
                source = SourceFile.read(Path(filename))
            except (OSError, SourceError):
                return ()
        return source.lines


class _Expected:
    """Whether this run would have found an entry's finding again; never for sure on changed lines alone."""

    def __init__(self, run: Run) -> None:
        self._run = run

    def __call__(self, entry: baseline.Known, filename: str) -> bool:
        run = self._run
        if run.options.diff_base is not None or not run.options.at(filename).selects(entry.code, filename):
            return False
        if not os.path.exists(filename):
            return True  # the file is gone, and its findings with it
        if filename not in run.checked:
            return False
        if filename in run.executed or "static" in entry.found_by:
            return True
        known = rules().get(entry.code)
        return not entry.found_by and (known is None or "static" in known.found_by)


def _counted(count: int, one: str, many: str | None = None) -> str:
    return f"{count} {one if count == 1 else many or one + 's'}"


def _shown(filename: str) -> str:
    """As the user would write it: relative where that is shorter."""
    shown = os.path.relpath(filename)
    return filename if shown.startswith("..") else shown
