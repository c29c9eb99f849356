"""The `sarif` format, held to the published schema."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from handmade import MODEL

from ddelint.nouns.diagnostics import Applicability, Diagnostic, Edit, Span
from ddelint.report import sarif
from ddelint.report.model import Report
from ddelint.sources.source import SourceFile

SCHEMA = Path(__file__).parent / "data" / "sarif-schema-2.1.0.json"
jsonschema: Any = pytest.importorskip("jsonschema")


@cache
def validator() -> Any:
    return jsonschema.Draft7Validator(json.loads(SCHEMA.read_text("utf-8")))


def told(*diagnostics: Diagnostic, **more: Any) -> dict[str, Any]:
    """The log's only run; the log as a whole fits the schema."""
    log = json.loads(sarif.render_report(Report(diagnostics, **{"texts": {"model.py": MODEL}, **more})))
    errors = [f"{'/'.join(map(str, error.path))}: {error.message}" for error in validator().iter_errors(log)]
    assert not errors, "\n".join(errors)
    (run,) = log["runs"]
    assert isinstance(run, dict)
    return run


def test_every_kind_of_finding_fits_the_schema(
    emptiness: Diagnostic, refused: Diagnostic, crash: Diagnostic, crumbs: Diagnostic
) -> None:
    run = told(emptiness, refused, crash, crumbs, errors=("no",), warnings=("careful",), files_checked=1)
    assert [result["ruleId"] for result in run["results"]] == ["DDE102", "DDE201", "DDE101", "DDE002"]
    assert run["invocations"][0]["executionSuccessful"] is False
    assert told()["results"] == []


def test_the_schema_refuses_what_is_wrong(emptiness: Diagnostic) -> None:
    run = told(emptiness)
    run["results"][0]["level"] = "fatal"
    assert not validator().is_valid({"version": "2.1.0", "runs": [run]})


def test_rules_are_described_once(emptiness: Diagnostic) -> None:
    other = replace(emptiness, span=replace(emptiness.span, row=1, end_row=1))
    run = told(emptiness, other)
    (rule,) = run["tool"]["driver"]["rules"]
    assert (rule["id"], rule["name"]) == ("DDE102", "emptiness-check")
    assert rule["shortDescription"]["text"].startswith("Finds a test whether")
    assert "## Fix safety" in rule["help"]["markdown"]
    assert rule["properties"]["precision"] == "high"
    assert rule["helpUri"].endswith("/DDE102/")
    assert rule["defaultConfiguration"]["level"] == "error"
    assert [result["ruleIndex"] for result in run["results"]] == [0, 0]


def test_births_are_related_and_flow_to_the_question(emptiness: Diagnostic) -> None:
    (result,) = told(emptiness)["results"]
    (birth,) = result["relatedLocations"]
    assert birth["physicalLocation"]["region"] == {"startLine": 13, "startColumn": 19, "endLine": 13, "endColumn": 47}
    assert birth["message"]["text"] == "`hit.shape[0]` is born here (0 ≤ hit.shape[0] ≤ 64)"
    (flow,) = result["codeFlows"][0]["threadFlows"]
    rows = [step["location"]["physicalLocation"]["region"]["startLine"] for step in flow["locations"]]
    assert rows == [13, 16]


def test_files_are_relative_to_a_root(emptiness: Diagnostic, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    inside, outside = str(tmp_path / "a b" / "ä.py"), "/elsewhere/m.py"
    located = [replace(emptiness, span=replace(emptiness.span, filename=name)) for name in (inside, outside)]
    run = told(*located)
    uris = {
        artifact["uri"]: artifact.get("uriBaseId")
        for result in run["results"]
        for artifact in [result["locations"][0]["physicalLocation"]["artifactLocation"]]
    }
    assert uris == {"a%20b/%C3%A4.py": "SRCROOT", "file:///elsewhere/m.py": None}
    assert run["originalUriBaseIds"]["SRCROOT"]["uri"] == tmp_path.as_uri() + "/"


def test_fingerprints_survive_lines_that_come_before(emptiness: Diagnostic, crumbs: Diagnostic) -> None:
    def prints(moved: int, *findings: Diagnostic, text: str = MODEL) -> list[str]:
        def shift(span: Span) -> Span:
            return replace(span, row=span.row + moved, end_row=span.end_row + moved)

        run = told(*(finding.relocated(shift) for finding in findings), texts={"model.py": "# new\n" * moved + text})
        return [result["partialFingerprints"][sarif.FINGERPRINT] for result in run["results"]]

    before = prints(0, emptiness, crumbs)
    assert len(set(before)) == 2
    assert prints(3, emptiness, crumbs) == before
    assert prints(0, emptiness, text=MODEL.replace("hit.shape[0] == 0", "hit.shape[0] == 1")) != before[:1]


def test_fixes_can_be_applied(emptiness: Diagnostic) -> None:
    (result,) = told(emptiness)["results"]
    (fix,) = result["fixes"]
    assert fix["properties"]["applicability"] == "safe"
    assert "verified: 64 inputs, both sides" in fix["description"]["text"]
    (change,) = fix["artifactChanges"]
    edits = []
    for replacement in change["replacements"]:
        region = replacement["deletedRegion"]
        places = (region[key] for key in ("startLine", "startColumn", "endLine", "endColumn"))
        edits.append(Edit(Span("model.py", *places), replacement["insertedContent"]["text"]))
    assert emptiness.fix is not None
    source = SourceFile("model.py", MODEL)
    assert source.apply(edits) == source.apply(emptiness.fix.edits) != MODEL


def test_what_is_for_eyes_only_is_no_fix(emptiness: Diagnostic) -> None:
    assert emptiness.fix is not None
    shown = replace(emptiness, fix=replace(emptiness.fix, applicability=Applicability.DISPLAY))
    assert "fixes" not in told(shown)["results"][0]


def test_names_count_from_the_repositorys_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "model.py").write_text(MODEL)
    monkeypatch.chdir(tmp_path / "sub")
    run = told(Diagnostic("DDE101", "m", Span("model.py", 1, 1, 1, 3)))
    (place,) = run["results"][0]["locations"]
    assert place["physicalLocation"]["artifactLocation"]["uri"] == "sub/model.py"
    (root,) = run["originalUriBaseIds"].values()
    assert root["uri"] == tmp_path.as_uri() + "/"
