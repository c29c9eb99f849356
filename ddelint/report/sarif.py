"""The `sarif` format, version 2.1.0, as code scanning services read it.

Source: https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html; section numbers below are its own.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ddelint.knowledge.catalog import DOCS_URL, rule
from ddelint.nouns.diagnostics import Applicability, Diagnostic, Fix, Severity, Span
from ddelint.nouns.fingerprints import fingerprints
from ddelint.report import json_
from ddelint.report.by_hand import help_for
from ddelint.report.diff import shown_path
from ddelint.report.evidence import verified_line
from ddelint.report.flow import Flow, flow_of
from ddelint.report.model import Report
from ddelint.report.rules import markdown
from ddelint.report.sources import Sources
from ddelint.system.files import repository_of
from ddelint.version import VERSION

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
FINGERPRINT = "ddelint/v1"
"""The key of a result's fingerprint: what a finding is known by from one version of its file to the next."""

_ROOT = "SRCROOT"
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
_SENTENCE = re.compile(r"(.+?\.)(?=\s|$)", re.DOTALL)


def render_report(report: Report) -> str:
    """The remaining findings as one indented SARIF log with a final line end."""
    findings = report.remaining
    codes = sorted({finding.code for finding in findings})
    known_by = fingerprints(findings, Sources(report.texts).lines, Path.cwd())
    run = {
        "tool": {
            "driver": {
                "name": "ddelint",
                "version": VERSION,
                "semanticVersion": VERSION,
                "informationUri": DOCS_URL.removesuffix("rules/"),
                "rules": [_rule(code) for code in codes],
            }
        },
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {_ROOT: {"uri": _root().as_uri().rstrip("/") + "/"}},
        "invocations": [_invocation(report)],
        "results": [
            _result(finding, codes, fingerprint) for finding, fingerprint in zip(findings, known_by, strict=True)
        ],
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _invocation(report: Report) -> dict[str, Any]:
    notes = [*(("error", text) for text in report.errors), *(("warning", text) for text in report.warnings)]
    invocation: dict[str, Any] = {"executionSuccessful": not report.errors}
    if notes:
        invocation["toolExecutionNotifications"] = [
            {"level": level, "message": {"text": text}} for level, text in notes
        ]
    return invocation


def _rule(code: str) -> dict[str, Any]:
    try:
        known = rule(code)
    except KeyError:
        return {"id": code}
    doc = known.documentation
    first = _SENTENCE.match(doc.what)
    precision = {"precision": "high"} if code.startswith("DDE") else {}  # docs/precision.md; others' is not known
    return {
        "id": code,
        "name": known.name,
        "shortDescription": {"text": " ".join((first[1] if first else doc.what).split())},
        "fullDescription": {"text": " ".join(doc.what.split())},
        "help": {"text": f"{doc.what}\n\n{doc.why}", "markdown": markdown(known)},
        "helpUri": known.url,
        "defaultConfiguration": {"level": _LEVELS[known.severity]},
        "properties": {"tags": ["pytorch", "data-dependent", f"{code[:4]}xx"], **precision},
    }


def _result(finding: Diagnostic, codes: Sequence[str], fingerprint: str) -> dict[str, Any]:
    plain = json_.finding(finding)
    flow, by_hand = flow_of(finding), help_for(finding)
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": codes.index(finding.code),
        "level": _LEVELS[finding.severity],
        "message": {"text": finding.message if by_hand is None else f"{finding.message}\n{by_hand.text}"},
        "locations": [_location(finding.span)],
        "partialFingerprints": {FINGERPRINT: fingerprint},
        "properties": {key: plain[key] for key in ("expression", "origin", "asks", "symbols", "evidence")},
    }
    if finding.frames:
        inside = [frame for frame in finding.frames if frame.inside] or list(finding.frames)
        result["locations"][0]["logicalLocations"] = [{"fullyQualifiedName": inside[-1].function, "kind": "function"}]
    related = [
        _location(step.span, step.words, number) for number, step in enumerate(flow.births, 1) if step.span is not None
    ]
    if related:
        result["relatedLocations"] = related
        result["codeFlows"] = [_code_flow(flow)]
    fix = finding.fix
    if fix is not None and fix.edits and fix.applicability is not Applicability.DISPLAY:
        result["fixes"] = [_fix(fix, verified_line(finding.evidence))]
    return result


def _code_flow(flow: Flow) -> dict[str, Any]:
    """3.36: one thread of the program, from the first birth to the question."""
    steps = [
        {"location": _location(step.span, step.words), "executionOrder": number}
        for number, step in enumerate(flow.places, 1)
        if step.span is not None
    ]
    return {"threadFlows": [{"locations": steps}]}


def _fix(fix: Fix, verified: str) -> dict[str, Any]:
    """3.55: the edits of each file as replacements of regions."""
    changes = []
    for filename in dict.fromkeys(edit.span.filename for edit in fix.edits):
        replacements = [
            {"deletedRegion": _region(edit.span), "insertedContent": {"text": edit.content}}
            for edit in fix.edits
            if edit.span.filename == filename
        ]
        changes.append({"artifactLocation": _artifact(filename), "replacements": replacements})
    return {
        "description": {"text": f"{fix.message.splitlines()[0] if fix.message else fix.move} ({verified})"},
        "artifactChanges": changes,
        "properties": {"applicability": fix.applicability.value, "claim": fix.claim.value, "move": fix.move},
    }


def _location(span: Span, words: str = "", number: int | None = None) -> dict[str, Any]:
    location: dict[str, Any] = {
        "physicalLocation": {"artifactLocation": _artifact(span.filename), "region": _region(span)}
    }
    if number is not None:
        location["id"] = number
    if words:
        location["message"] = {"text": words}
    return location


def _root() -> Path:
    """What a forge takes relative names from: the repository around the working directory, else that itself."""
    return repository_of(Path.cwd()) or Path.cwd()


def _artifact(filename: str) -> dict[str, str]:
    """3.4: relative to the root where the file lies under it."""
    path = Path(filename).absolute()
    shown = shown_path(str(path), _root()) if path.exists() else shown_path(filename)
    if os.path.isabs(shown):
        return {"uri": Path(shown).as_uri()}
    return {"uri": quote(os.fsencode(shown)), "uriBaseId": _ROOT}


def _region(span: Span) -> dict[str, int]:
    """3.30: rows and columns count from 1, the end column is exclusive, as in a Span."""
    return {
        "startLine": span.row,
        "startColumn": span.column,
        "endLine": span.end_row,
        "endColumn": span.end_column,
    }
