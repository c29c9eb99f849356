"""The `gitlab` format: a Code Quality report, as GitLab shows it in a merge request.

Source of the keys: https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format.
"""

from __future__ import annotations

import json
from pathlib import Path

from ddelint.nouns.diagnostics import Diagnostic, Severity
from ddelint.nouns.fingerprints import fingerprints
from ddelint.report.by_hand import help_for
from ddelint.report.diff import path_in_repository
from ddelint.report.evidence import offered_line
from ddelint.report.model import Report
from ddelint.report.sources import Sources

_SEVERITIES = {Severity.ERROR: "major", Severity.WARNING: "minor", Severity.INFO: "info"}


def render_report(report: Report) -> str:
    """The remaining findings as an indented JSON array with a final line end."""
    findings = report.remaining
    known_by = fingerprints(findings, Sources(report.texts).lines, Path.cwd())
    issues = [
        {
            "description": f"{finding.code}: {finding.message}",
            **({"content": {"body": body}} if (body := _body(finding)) else {}),
            "check_name": finding.code,
            "fingerprint": fingerprint,
            "severity": _SEVERITIES[finding.severity],
            "location": {
                "path": path_in_repository(finding.span.filename),
                "lines": {"begin": finding.span.row, "end": finding.span.end_row},
            },
        }
        for finding, fingerprint in zip(findings, known_by, strict=True)
    ]
    return json.dumps(issues, indent=2) + "\n"


def _body(finding: Diagnostic) -> str:
    """What its fix does and what was run to trust it; or what to do by hand."""
    by_hand = help_for(finding)
    return "\n\n".join(filter(None, (offered_line(finding), by_hand.text if by_hand is not None else "")))
