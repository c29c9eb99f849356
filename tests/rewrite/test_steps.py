"""Which tests must have gone both ways for a rewrite to be trusted."""

from __future__ import annotations

import ast
import textwrap
from dataclasses import replace

import pytest

from ddelint.nouns.diagnostics import Applicability, Claim, Diagnostic, Edit, Question, Span
from ddelint.nouns.protocol import Decision
from ddelint.rewrite.candidate import Candidate
from ddelint.rewrite.search.history import History
from ddelint.rewrite.search.steps import Key, State, Step, compiled_side, decisions_of, reworded
from ddelint.sources.source import SourceFile

NAME = "model.py"


BOTH = "x = torch.where(a, x * 2, x)"
ALWAYS = "if torch.compiler.is_compiling() or a.any():"
NEVER = "if not torch.compiler.is_compiling() and a.any():"


def decided_by(body: str, asked: tuple[str, ...], claim: Claim, text: str = BOTH, earlier: str = "") -> set[str]:
    """The tests that must go both ways where the first of `asked` is rewritten, and `earlier` was before."""
    source = SourceFile(NAME, f"def fn(x, a, b, c, flag):\n{textwrap.indent(textwrap.dedent(body).strip(), '    ')}\n")
    nodes = {ast.unparse(node): node for node in ast.walk(source.tree) if isinstance(node, ast.expr)}
    questions = [Question(source.span(nodes[test]), "truth", test, "") for test in asked]
    statement = next(n for n in ast.walk(source.tree) if isinstance(n, ast.If) and ast.unparse(n.test) == asked[0])
    edit = Edit(source.span(statement), text)
    candidate = Candidate("where_merge", claim, "both", (edit,), decisions=(source.span(statement.test),))
    steps = [made_before(source.span(nodes[earlier]))] if earlier else []
    found = decisions_of(History({NAME: source}), candidate, questions[0], questions, steps)
    return {source.segment(decision.span) for decision in found}


def made_before(test: Span) -> Step:
    candidate = Candidate("where_merge", Claim.RESTRUCTURED, "both", ())
    key = Key(NAME, test.row, test.column, "", "truth")
    decision = Decision("earlier", test, None)
    return Step(1, key, Diagnostic("DDE105", "", test), candidate, (decision,), Applicability.SAFE, (), None)


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


@pytest.mark.parametrize("text", [ALWAYS, NEVER])
def test_what_is_asked_inside_a_block_that_is_always_or_never_compiled_must_go_both_ways_too(text: str) -> None:
    asked = ("a.any()", "b.any()")
    for body in (
        "if a.any():\n    x = x * 2\n    if b.any():\n        x = x + 1",
        "if a.any():\n    x = x * 2\nelse:\n    x = x + 1\n    if b.any():\n        x = x + 2",
    ):
        assert decided_by(body, asked, Claim.GENERAL_PATH, text) == set(asked)


def test_what_was_rewritten_inside_a_block_before_it_must_have_gone_both_ways() -> None:
    body = "if a.any():\n    x = x * 2\n    if b.any():\n        x = x + 1\nif c.any():\n    x = x + 2"
    for earlier, wanted in (("b.any()", {"a.any()", "b.any()"}), ("c.any()", {"a.any()"})):
        assert decided_by(body, ("a.any()",), Claim.GENERAL_PATH, ALWAYS, earlier) == wanted
    assert decided_by(body, ("a.any()",), Claim.GENERAL_PATH, ALWAYS) == {"a.any()"}


def test_what_is_asked_behind_the_branch_does_not_count() -> None:
    body = "if a.any():\n    x = x * 2\nif b.any():\n    x = x + 1"
    assert decided_by(body, ("a.any()", "b.any()"), Claim.RESTRUCTURED) == {"a.any()"}


def test_a_rewrite_that_says_the_same_counts_its_own_test_alone() -> None:
    body = "if a.any():\n    if b.any():\n        x = x + 1"
    assert decided_by(body, ("a.any()", "b.any()"), Claim.EQUIVALENT) == {"a.any()"}


@pytest.mark.parametrize(
    ("test", "kind", "found"),
    [
        ("a + 1 > 2", "truth", True),
        ("1 < a + 1 < 2", "truth", False),
        ("int(a)", "truth", False),
        ("a + 1 > 2", "integer", False),
    ],
)
def test_a_comparison_that_is_still_asked_was_only_put_in_other_words(test: str, kind: str, found: bool) -> None:
    """Of a chain another link may be asked now; what was a demand may be a question now."""
    source = SourceFile(NAME, f"{test}\n")
    step = replace(made_before(Span(NAME, 1, 1, 1, len(test) + 1)), key=Key(NAME, 1, 1, test, kind))
    still = Key(NAME, 1, 1, "other words", "truth")
    state = State(History({NAME: source}), [step], {still: step.diagnostic})
    assert reworded(state) == ([step] if found else [])


@pytest.mark.parametrize(
    ("claim", "side", "text", "expected"),
    [
        (Claim.GENERAL_PATH, False, "if guard_or_false(n < 2):", False),
        (Claim.GENERAL_PATH, True, "if guard_or_true(n < 2):", True),
        (Claim.GENERAL_PATH, None, NEVER, False),
        (Claim.GENERAL_PATH, None, ALWAYS, True),
        (Claim.RESTRUCTURED, False, NEVER, None),
    ],
)
def test_the_side_that_is_compiled_is_what_a_move_says_or_its_text(
    claim: Claim, side: bool | None, text: str, expected: bool | None
) -> None:
    """Where the sides meet, what that side leaves is held against what the other one does."""
    edit = Edit(Span(NAME, 1, 1, 1, 2), text)
    assert compiled_side(Candidate("guard_on_size", claim, "one side", (edit,), side=side)) is expected
