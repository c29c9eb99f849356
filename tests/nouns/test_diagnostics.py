"""The nouns' few habits."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ddelint.nouns.diagnostics import Applicability, Claim, Diagnostic, Edit, Fix, Frame, Span, Symbol

HERE = Span("a.py", 2, 5, 2, 9)


def down(span: Span) -> Span:
    return replace(span, row=span.row + 3, end_row=span.end_row + 3)


def test_a_relocated_finding_moves_as_a_whole() -> None:
    finding = Diagnostic(
        "DDE101",
        "m",
        HERE,
        symbols=(Symbol("n", "t.item()", HERE), Symbol("m", "u.item()")),
        breadcrumbs=((HERE, "born"),),
        frames=(Frame(HERE, "forward", True),),
        fix=Fix(Applicability.SAFE, "m", (Edit(HERE, "x"),), "move", Claim.EQUIVALENT),
    )
    moved = finding.relocated(down)
    there = down(HERE)
    assert moved.span == there
    assert [symbol.created for symbol in moved.symbols] == [there, None]
    assert moved.breadcrumbs == ((there, "born"),)
    assert moved.frames[0].span == there
    assert moved.fix is not None
    assert moved.fix.edits == (Edit(there, "x"),)
    assert moved.relocated(lambda span: replace(span, row=span.row - 3, end_row=span.end_row - 3)) == finding


@pytest.mark.parametrize(
    ("other", "contained", "overlapping"),
    [
        (Span("a.py", 2, 6, 2, 8), True, True),
        (HERE, True, True),
        (Span("a.py", 2, 1, 2, 6), False, True),
        (Span("a.py", 2, 9, 2, 12), False, False),
        (Span("a.py", 1, 1, 3, 1), False, True),
        (Span("b.py", 2, 5, 2, 9), False, False),
    ],
)
def test_spans_contain_and_overlap(other: Span, contained: bool, overlapping: bool) -> None:
    assert HERE.contains(other) is contained
    assert HERE.overlaps(other) is overlapping
    assert other.overlaps(HERE) is overlapping
