"""Which tests must have gone both ways for a rewrite to be trusted."""

from __future__ import annotations

import ast
import textwrap

import pytest

from ddelint.nouns.diagnostics import Claim, Edit, Question
from ddelint.rewrite.candidate import Candidate
from ddelint.rewrite.search.history import History
from ddelint.rewrite.search.steps import decisions_of
from ddelint.sources.source import SourceFile

NAME = "model.py"


def decided_by(body: str, asked: tuple[str, ...], claim: Claim) -> set[str]:
    """The tests that must go both ways where the first of `asked` is rewritten."""
    source = SourceFile(NAME, f"def fn(x, a, b, c, flag):\n{textwrap.indent(textwrap.dedent(body).strip(), '    ')}\n")
    nodes = {ast.unparse(node): node for node in ast.walk(source.tree) if isinstance(node, ast.expr)}
    questions = [Question(source.span(nodes[test]), "truth", test, "") for test in asked]
    statement = next(n for n in ast.walk(source.tree) if isinstance(n, ast.If) and ast.unparse(n.test) == asked[0])
    edit = Edit(source.span(statement), "x = torch.where(a, x * 2, x)")
    candidate = Candidate("where_merge", claim, "both", (edit,), decisions=(source.span(statement.test),))
    found = decisions_of(History({NAME: source}), candidate, questions[0], questions)
    return {source.segment(decision.span) for decision in found}


@pytest.mark.parametrize(
    "body",
    [
        "if a.any():\n    x = x * 2\n    if b.any():\n        x = x + 1",
        "if a.any():\n    x = x * 2\nelif b.any():\n    x = x + 1",
        "if a.any():\n    x = x * 2\nelse:\n    x = x + 1\n    if b.any():\n        x = x + 2",
        "if a.any():\n    if flag:\n        if b.any():\n            x = x + 1",
        "if a.any():\n    if b.any():\n        return x + 1\n    return x\nreturn x * 2",
    ],
)
def test_what_is_asked_inside_merged_arms_must_go_both_ways_too(body: str) -> None:
    asked = ("a.any()", "b.any()")
    assert decided_by(body, asked, Claim.RESTRUCTURED) == set(asked)
    assert decided_by(body, asked[:1], Claim.RESTRUCTURED) == {"a.any()"}


def test_what_is_asked_behind_the_branch_does_not_count() -> None:
    body = "if a.any():\n    x = x * 2\nif b.any():\n    x = x + 1"
    assert decided_by(body, ("a.any()", "b.any()"), Claim.RESTRUCTURED) == {"a.any()"}


def test_a_rewrite_that_says_the_same_counts_its_own_test_alone() -> None:
    body = "if a.any():\n    if b.any():\n        x = x + 1"
    assert decided_by(body, ("a.any()", "b.any()"), Claim.EQUIVALENT) == {"a.any()"}
