"""The `github` format: workflow commands that GitHub shows as annotations on a pull request."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ddelint.nouns.levels import Severity
from ddelint.report.by_hand import help_for
from ddelint.report.console import rule_name
from ddelint.report.diff import path_in_repository, shown_path
from ddelint.report.evidence import offered_line
from ddelint.report.model import Report

SHOWN_PER_KIND = 10
"""GitHub shows ten annotations of a kind for a step and drops the rest."""

_KINDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def render_report(report: Report) -> Iterator[str]:
    """One command a finding, worst first; where GitHub will drop some, a plain line says so."""
    worst_first = sorted(report.remaining, key=lambda d: list(Severity).index(d.severity))
    for diagnostic in worst_first:
        span = diagnostic.span
        place = {"file": path_in_repository(span.filename), "line": span.row, "endLine": span.end_row}
        if span.row == span.end_row:  # GitHub refuses columns on an annotation of several lines
            place |= {"col": span.column, "endColumn": span.end_column}
        title = f"{diagnostic.code} {rule_name(diagnostic.code)}"
        properties = ",".join(f"{key}={_property(str(value))}" for key, value in {**place, "title": title}.items())
        text = f"{shown_path(span.filename)}:{span.row}:{span.column}: {diagnostic.code} {diagnostic.message}"
        by_hand = help_for(diagnostic)
        message = "\n".join(filter(None, (text, offered_line(diagnostic), by_hand.text if by_hand else "")))
        yield f"::{_KINDS[diagnostic.severity]} {properties}::{_data(message)}"
    for severity, count in Counter(diagnostic.severity for diagnostic in worst_first).items():
        if count > SHOWN_PER_KIND:
            kind = _KINDS[severity]
            yield f"ddelint: GitHub shows {SHOWN_PER_KIND} of these {count} {kind} annotations; all are in this log"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
