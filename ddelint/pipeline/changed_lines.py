"""`--diff-base`: findings on lines that have changed since a git revision, and no others."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from functools import lru_cache
from types import MappingProxyType

from ddelint.nouns.diagnostics import Diagnostic, Span
from ddelint.pipeline.gathering import Run
from ddelint.pipeline.versions import at_revision
from ddelint.sources.source import SourceFile, bare_lines

_NO_TEXTS: Mapping[str, str] = MappingProxyType({})


def only(findings: Iterable[Diagnostic], run: Run, texts: Mapping[str, str] = _NO_TEXTS) -> list[Diagnostic]:
    """The findings that `is_new` keeps."""
    return [finding for finding in findings if is_new(finding, run, texts)]


def is_new(finding: Diagnostic, run: Run, texts: Mapping[str, str] = _NO_TEXTS) -> bool:
    """Whether the question or the birth of one of its numbers stands on a changed line; always, without --diff-base.

    `texts` are the files that the finding's places count in, where they are not as they were read. A file that the
    revision does not have is new as a whole. Raises PipelineError where there is no such revision.
    """
    if run.options.diff_base is None:
        return True
    if finding.code == "DDE001":  # what does not parse may be due to a change anywhere
        source = run.sources.get(finding.span.filename)
        return source is None or _base(source, run) != texts.get(source.filename, source.text)
    places = (finding.span, *(symbol.created for symbol in finding.symbols if symbol.created is not None))
    return any(_is_changed(place, run, texts) for place in places)


def rows_of(filename: str, run: Run) -> frozenset[int]:
    """The rows (from 1) of a file, as it was read, that the revision does not have."""
    source = run.sources[filename]
    base = _base(source, run)
    return _changed_rows(base if base is not None else "", source.text)


def _is_changed(place: Span, run: Run, texts: Mapping[str, str]) -> bool:
    source = run.sources.get(place.filename)
    if source is None:
        return False
    base = _base(source, run)
    if base is None:
        return True
    rows = _changed_rows(base, texts.get(place.filename, source.text))
    return any(row in rows for row in range(place.row, place.end_row + 1))


def _base(source: SourceFile, run: Run) -> str | None:
    """The file's text at the revision, asked for once; None where it has no such file."""
    if source.filename not in run.bases:
        run.bases[source.filename] = at_revision(str(run.options.diff_base), source, "--diff-base")
    return run.bases[source.filename]


@lru_cache(maxsize=64)
def _changed_rows(before: str, after: str) -> frozenset[int]:
    """Rows of `after` (from 1) that `before` does not have there."""
    changes = difflib.SequenceMatcher(None, bare_lines(before), bare_lines(after), autojunk=False).get_opcodes()
    return frozenset(row for tag, _, _, c, d in changes if tag != "equal" for row in range(c + 1, d + 1))
