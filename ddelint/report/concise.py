"""The `concise` format: one line a finding, as editors and `grep` read it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ddelint.report.console import is_fixable
from ddelint.report.diff import shown_path
from ddelint.report.model import Report

if TYPE_CHECKING:
    from ddelint.nouns.diagnostics import Diagnostic


def render_report(report: Report, unsafe_fixes: bool) -> Iterator[str]:
    """`path:row:column: CODE [*] message`."""
    for diagnostic in report.remaining:
        yield line(diagnostic, is_fixable(diagnostic, unsafe_fixes))


def line(diagnostic: Diagnostic, is_starred: bool = False) -> str:
    """One finding; a star says that it can be fixed."""
    span = diagnostic.span
    place = f"{shown_path(span.filename)}:{span.row}:{span.column}"
    return f"{place}: {diagnostic.code} {'[*] ' if is_starred else ''}{diagnostic.message}"
