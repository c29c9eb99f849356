"""docs/findings.schema.json says what `--output-format json` prints: real output is held to it, key by key."""

from __future__ import annotations

import copy
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from closed_schemas import closed

from ddelint.cli import main
from ddelint.nouns.diagnostics import Applicability, Claim, Diagnostic, Severity
from ddelint.report import json_
from ddelint.report.model import Report

jsonschema = pytest.importorskip("jsonschema")

CHECKOUT = Path(__file__).resolve().parents[2]
SCHEMA: dict[str, Any] = json.loads((CHECKOUT / "docs" / "findings.schema.json").read_text("utf-8"))


def validate(findings: Any) -> None:
    jsonschema.validate(findings, closed(SCHEMA), jsonschema.Draft202012Validator)


def printed(monkeypatch: pytest.MonkeyPatch, *words: str, stdin: str | None = None) -> list[dict[str, Any]]:
    monkeypatch.setattr(sys, "argv", ["ddelint", *words])
    result = CliRunner().invoke(main, [*words, "--output-format", "json"], prog_name="ddelint", input=stdin)
    assert result.exit_code == 1, result.output
    found: list[dict[str, Any]] = json.loads(result.stdout)
    assert found
    return found


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_it_holds_for_what_the_static_pass_prints(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = [str(path) for path in sorted((CHECKOUT / "fixtures" / "rules").glob("*/flagged.py"))]
    found = printed(monkeypatch, "check", "--static", "--no-cache", *rules)
    validate(found)
    assert len({finding["code"] for finding in found}) > 20


def test_it_holds_for_what_explain_prints(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = sorted((CHECKOUT / "fixtures" / "explain" / "torch-2.13").glob("*.txt"))[:8]
    assert texts
    validate([finding for path in texts for finding in printed(monkeypatch, "explain", str(path))])


def test_it_holds_for_findings_with_everything(
    emptiness: Diagnostic, refused: Diagnostic, crumbs: Diagnostic, crash: Diagnostic
) -> None:
    found = json.loads(json_.render_report(Report((emptiness, refused, crumbs, crash))))
    validate(found)
    assert any(finding["evidence"]["samples"] for finding in found)
    assert any(finding["refused"] for finding in found)
    assert any(finding["frames"] for finding in found)


def test_its_words_are_those_of_the_nouns() -> None:
    definitions = SCHEMA["$defs"]
    assert definitions["fix"]["properties"]["applicability"]["enum"] == [a.value for a in Applicability]
    assert definitions["fix"]["properties"]["claim"]["enum"] == [claim.value for claim in Claim]
    assert definitions["finding"]["properties"]["severity"]["enum"] == [severity.value for severity in Severity]


def test_the_check_can_fail(emptiness: Diagnostic) -> None:
    (finding,) = json.loads(json_.render_report(Report((emptiness,))))
    for wrong in ({**finding, "surprise": 1}, {k: v for k, v in finding.items() if k != "evidence"}):
        with pytest.raises(jsonschema.ValidationError):
            validate([copy.deepcopy(wrong)])
