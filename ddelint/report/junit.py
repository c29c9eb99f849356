"""The `junit` format: each finding a failed test case, each file a test suite."""

from __future__ import annotations

from itertools import groupby
from pathlib import PurePath
from xml.etree import ElementTree

from ddelint.report.by_hand import help_for
from ddelint.report.console import rule_name
from ddelint.report.diff import shown_path
from ddelint.report.evidence import verified_line
from ddelint.report.model import Report
from ddelint.report.visible import visible, visible_line


def render_report(report: Report) -> str:
    """An XML document with a final line end. Where nothing was found, one passed test case says so."""
    root = ElementTree.Element("testsuites", name="ddelint")
    for filename, group in groupby(report.remaining, key=lambda finding: finding.span.filename):
        findings = list(group)
        name = visible(shown_path(filename))
        suite = _suite(root, name, tests=len(findings), failures=len(findings))
        for finding in findings:
            span = finding.span
            case = ElementTree.SubElement(
                suite,
                "testcase",
                name=f"{finding.code} {rule_name(finding.code)} ({span.row}:{span.column})",
                classname=".".join(PurePath(name).with_suffix("").parts).lstrip("./"),
                file=name,
                line=str(span.row),
            )
            message = visible(finding.message)
            failure = ElementTree.SubElement(case, "failure", type=finding.severity.value, message=message)
            lines = [f"{name}:{span.row}:{span.column}: {finding.code} {message}"]
            if finding.fix is not None:
                lines.append(f"fix ({finding.fix.applicability.value}): {finding.fix.message}")
                lines.append(verified_line(finding.evidence))
            if (by_hand := help_for(finding)) is not None:
                lines.append(by_hand.text)
            if finding.detail and not finding.expression:
                lines.append(finding.detail.rstrip())
            failure.text = "\n".join(visible_line(line) for text in lines for line in text.split("\n"))
    if report.errors:
        suite = _suite(root, "ddelint", tests=len(report.errors), errors=len(report.errors))
        for error in report.errors:
            case = ElementTree.SubElement(suite, "testcase", name="ddelint", classname="ddelint")
            ElementTree.SubElement(case, "error", type="error", message=visible(error))
    if not len(root):
        suite = _suite(root, "ddelint", tests=1)
        checked = f"{report.files_checked} file{'' if report.files_checked == 1 else 's'} checked, nothing found"
        ElementTree.SubElement(suite, "testcase", name=checked, classname="ddelint")
    for total in ("tests", "failures", "errors"):
        root.set(total, str(sum(int(suite.get(total, "0")) for suite in root)))
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _suite(
    root: ElementTree.Element, name: str, *, tests: int, failures: int = 0, errors: int = 0
) -> ElementTree.Element:
    counts = {"tests": str(tests), "failures": str(failures), "errors": str(errors)}
    return ElementTree.SubElement(root, "testsuite", {"name": name, **counts})
