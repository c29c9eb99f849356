"""What stands in the way of a rewrite, and the one by hand, in every format that has room for it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from handmade import MODEL

from ddelint.nouns.diagnostics import DOES_NOT_APPLY, TIME_IS_OVER, Diagnostic, Refusal, Span
from ddelint.report.by_hand import help_for, tries
from ddelint.report.formats import Rendering, render
from ddelint.report.model import Report
from ddelint.report.style import Style
from ddelint.rewrite.search.last_resort import behind


@pytest.mark.parametrize("output_format", ["full", "json", "json-lines", "junit", "github", "gitlab", "sarif"])
def test_what_is_left_says_what_stands_in_the_way_and_shows_code(output_format: str, refused: Diagnostic) -> None:
    text = render(Report((refused,), texts={"model.py": MODEL}), Rendering(Style(), output_format))
    assert "compute both arms and choose with torch.where: the body raises" in " ".join(text.split())
    assert "torch.where(" in text
    assert "```" not in text or output_format == "sarif"  # whose rules have pages


@pytest.mark.parametrize("output_format", ["full", "json", "junit", "github", "gitlab", "sarif", "markdown", "html"])
def test_own_lines_are_shown_where_what_speaks_against_them_may_not_occur(
    output_format: str, refused: Diagnostic
) -> None:
    reason = "eager, all zeros: value differs (expected 1, got 2)"
    own = Refusal("where_merge", "compute both", reason, "x = merged(x)\n...\nreturn x")
    found = replace(refused, refused=(Refusal("guard", "assume it", "the body raises"), own))
    text = render(Report((found,), texts={"model.py": MODEL}), Rendering(Style(), output_format))
    said = text.replace("\\n", "\n").replace("&#10;", "\n").replace("%0A", "\n")
    assert "all zeros: value differs" in " ".join(said.split())
    assert "by hand, where that input never occurs:" in said
    assert "x = merged(x)\n" in "\n".join(line.strip() + "\n" for line in said.split("\n"))
    assert (
        "torch.where(" not in text.partition('"results"')[2] if output_format == "sarif" else "torch.where(" not in text
    )


def test_what_has_a_fix_or_was_not_tried_needs_no_help(emptiness: Diagnostic, refused: Diagnostic) -> None:
    assert help_for(emptiness) is None
    assert help_for(replace(refused, refused=(), origin=("trace",))) is None
    unknown = help_for(replace(refused, code="XYZ001"))
    assert unknown is not None
    assert unknown.text == "in the way: compute both arms and choose with torch.where: the body raises"


def test_a_rule_whose_findings_have_causes_of_their_own_shows_no_example(refused: Diagnostic) -> None:
    found = help_for(replace(refused, code="DDE005"))
    assert found is not None
    assert found.text == "in the way: compute both arms and choose with torch.where: the body raises"


def test_a_finding_of_the_text_alone_shows_the_rules_rewrite_once(refused: Diagnostic) -> None:
    read = replace(refused, refused=(), origin=("static",))
    known = help_for(read)
    assert known is not None
    assert (known.hindrance, "torch.where(" in known.code) == ("", True)
    assert known.text.startswith("by hand, for example:\n")
    again = replace(read, span=replace(read.span, row=1, end_row=1))
    text = render(Report((read, again), texts={"model.py": MODEL}), Rendering(Style(), "full"))
    assert text.count("by hand, for example:") == 1
    for other in (
        replace(read, fix_pending=True),
        replace(read, origin=("static", "trace")),
        replace(read, code="DDE001"),
    ):
        assert help_for(other) is None


def test_what_stands_in_the_way_is_the_refusal_that_says_most() -> None:
    asks = Refusal("size_fact", "state the fact", "the compiler still asks `n > 0`")
    promise = Refusal("promise", "promise it", "needs a promise (--unsafe-fixes)")
    differs = Refusal("where_merge", "compute both", "seed 1: value differs (expected 1, got 2)")
    late = Refusal("torch_cond", "let the compiler choose", TIME_IS_OVER)
    found = Diagnostic("DDE102", "", Span("program.py", 1, 1, 1, 2), origin=("trace",))
    for refused, told in (
        ((asks, promise, differs, late), "compute both: seed 1"),
        ((late, promise), "promise it: needs"),
        ((late, asks), "state the fact: the compiler"),
        ((late,), "let the compiler choose: "),
        ((late, replace(late, message="with code", code="a = b")), "with code: "),
        ((replace(late, code="a = b"), asks), "state the fact: the compiler"),
    ):
        given = help_for(replace(found, refused=refused))
        assert given is not None
        assert given.hindrance.startswith(told)


def test_what_was_not_run_is_not_counted_as_refused() -> None:
    found = Diagnostic("DDE101", "", Span("program.py", 1, 1, 1, 2), origin=("trace",), expression="a == b")
    differs = Refusal("where_merge", "compute both", "seed 1: value differs (expected 1, got 2)")
    late = Refusal("torch_cond", "let the compiler choose", TIME_IS_OVER)
    moot = Refusal("item", "read it", DOES_NOT_APPLY)
    first = replace(found, span=replace(found.span, row=7, end_row=7), expression="n > 0")
    waits = behind(found, [first])

    assert tries(replace(found, refused=(differs, moot))) == "none: 1 rewrite was tried and refused"
    assert tries(replace(found, refused=(differs, differs, late, late))) == (
        f"none: 2 rewrites were tried and refused, others were not tried: {TIME_IS_OVER}"
    )
    assert tries(waits) == "not tried: `n > 0` at line 7 is asked first, and is still open"
    helps = help_for(waits)
    assert helps is not None
    assert helps.hindrance == "`n > 0` at line 7 is asked first, and is still open"
    assert helps.code
