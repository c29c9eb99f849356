"""Suggestions on changed lines, as GitHub's API takes them."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from typing import Any

from handmade import MODEL

from ddelint.nouns.diagnostics import Diagnostic
from ddelint.report.github_review import render_report
from ddelint.report.model import Report

QUESTION = "            if hit.shape[0] == 0:"
IMPORT = "from torch.fx.experimental.symbolic_shapes import guard_or_false"
FIXED = MODEL.replace("hit.shape[0] == 0", "guard_or_false(hit.shape[0] == 0)")
ROW = MODEL.splitlines().index(QUESTION) + 1


def review(finding: Diagnostic, new: str, changed: set[int]) -> dict[str, Any]:
    report = Report(
        (finding,),
        texts={"model.py": MODEL},
        rewritten={"model.py": new},
        changed_rows={"model.py": frozenset(changed)},
    )
    made: dict[str, Any] = json.loads(render_report(report, False))
    return made


def suggested(comment: dict[str, Any]) -> str:
    return str(comment["body"].split("```suggestion\n")[1].split("\n```")[0])


def test_lines_are_replaced_where_they_stand(emptiness: Diagnostic) -> None:
    made = review(emptiness, FIXED, {ROW})
    (comment,) = made["comments"]
    assert (comment["path"], comment["line"], comment["side"]) == ("model.py", ROW, "RIGHT")
    assert "start_line" not in comment
    assert suggested(comment) == "            if guard_or_false(hit.shape[0] == 0):"
    assert "**DDE102 emptiness-check**: take the general path" in comment["body"]
    assert "verified: 64 inputs, both sides, eager equal" in comment["body"]
    assert made["body"] == ""


def test_a_line_put_between_others_keeps_the_one_before_and_names_its_partner(emptiness: Diagnostic) -> None:
    made = review(emptiness, f"{IMPORT}\n{FIXED}", {1, ROW})
    first, second = made["comments"]
    assert (first["line"], suggested(first)) == (1, f"{IMPORT}\nimport torch")
    assert f"Take it together with the change at model.py:{ROW}." in first["body"]
    assert "Take it together with the change at model.py:1." in second["body"]
    inner = review(emptiness, FIXED.replace("import torch\n", f"import torch\n{IMPORT}\n"), {2, ROW})
    assert suggested(inner["comments"][0]) == f"import torch\n{IMPORT}"


def test_what_the_pull_request_does_not_show_is_in_the_text(emptiness: Diagnostic) -> None:
    made = review(emptiness, f"{IMPORT}\n{FIXED}", {ROW})
    assert [comment["line"] for comment in made["comments"]] == [ROW]
    assert "`model.py:1` DDE102" in made["body"]
    assert IMPORT in made["body"]
    assert review(emptiness, FIXED, set())["comments"] == []


def test_unchanged_lines_beside_a_change_are_shown(emptiness: Diagnostic) -> None:
    assert len(review(emptiness, FIXED, {ROW - 3})["comments"]) == 1
    assert review(emptiness, FIXED, {ROW - 4})["comments"] == []


def test_a_fence_in_the_code_does_not_end_the_suggestion(emptiness: Diagnostic) -> None:
    (comment,) = review(emptiness, FIXED.replace("n = int", '"""\n    ```\n    """\n        n = int'), {20})["comments"]
    assert "````suggestion\n" in comment["body"]


def test_each_comment_is_known_by_what_it_says(emptiness: Diagnostic) -> None:
    def mark(finding: Diagnostic) -> str:
        return str(review(finding, FIXED, {ROW})["comments"][0]["body"].splitlines()[-1])

    assert mark(emptiness).startswith("<!-- ddelint:")
    assert mark(emptiness) == mark(emptiness)
    assert mark(emptiness) != mark(replace(emptiness, evidence=None))


def test_without_changed_lines_there_is_nothing_to_review() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "ddelint", "check", __file__, "--static", "--output-format", "github-review"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "github-review suggests changes of changed lines: it needs --diff-base REV" in done.stderr
