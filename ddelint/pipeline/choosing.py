"""Which findings count under a call's options."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ddelint.nouns.levels import Severity

if TYPE_CHECKING:
    from ddelint.nouns.diagnostics import Diagnostic
    from ddelint.settings.options import CheckOptions


def chosen(finding: Diagnostic, options: CheckOptions) -> bool:
    """Whether a finding counts: its rule is selected, and by name where it is advice that rests on the text alone."""
    at = options.at(finding.span.filename)
    filename = finding.span.filename
    if any(at.ignores(code, filename) for code in finding.codes):
        return False
    if not any(at.selects(code, filename) for code in finding.codes):
        return False
    if finding.origin != ("static",) or finding.severity is not Severity.WARNING or at.names(finding.code):
        return True
    from ddelint.knowledge.catalog import rule  # a clean file needs none

    return not rule(finding.code).advice_on_request
