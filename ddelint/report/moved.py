"""Where a finding that was fixed stands in the text as it is now."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from ddelint.report.model import Report
from ddelint.sources.source import bare_lines

if TYPE_CHECKING:
    from ddelint.nouns.diagnostics import Diagnostic


def row_now(finding: Diagnostic, report: Report) -> int:
    """The row of the text that the report shows; 0 where nothing of it is left."""
    filename, row = finding.span.filename, finding.span.row
    if not finding.fixed or filename not in report.originals:
        return row
    for _, a, b, c, d in _changes(report.originals[filename], report.texts.get(filename, "")):
        if a < row <= b:
            return max(min(c + (row - a), d), 1)
    return 0


@lru_cache(maxsize=8)
def _changes(before: str, after: str) -> Sequence[tuple[str, int, int, int, int]]:
    """Which lines became which, as difflib says it."""
    import difflib  # slow to load

    return difflib.SequenceMatcher(None, bare_lines(before), bare_lines(after), autojunk=False).get_opcodes()
