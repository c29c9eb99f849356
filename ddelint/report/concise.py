"""The `concise` format: one line a finding, as editors and `grep` read it."""

from __future__ import annotations

from collections.abc import Iterator

from ddelint.report.console import is_fixable
from ddelint.report.diff import shown_path
from ddelint.report.model import Report


def render_report(report: Report, unsafe_fixes: bool) -> Iterator[str]:
    """`path:row:column: CODE [*] message`."""
    for diagnostic in report.remaining:
        span = diagnostic.span
        star = "[*] " if is_fixable(diagnostic, unsafe_fixes) else ""
        place = f"{shown_path(span.filename)}:{span.row}:{span.column}"
        yield f"{place}: {diagnostic.code} {star}{diagnostic.message}"
