"""Readiness as a number: what counts as ready, what all entries come to, what the badge says."""

from __future__ import annotations

import json

import pytest

from ddelint.nouns.contracts import SPECIALIZED, Branch, Contract, Dimension, Requirement
from ddelint.nouns.diagnostics import Span
from ddelint.nouns.protocol import EntryFailure
from ddelint.nouns.size_readiness import Share
from ddelint.report.readiness import badge, markdown, text
from ddelint.shapes.readiness import readiness_of, total

X, Y, W = "x.shape[0]", "y.shape[0]", "x.shape[1]"


def at(row: int) -> Span:
    return Span("m.py", row, 1, row, 9)


def contract(*needs: Requirement, branches: tuple[str, ...] = ()) -> Contract:
    sizes = (Dimension(X, 4, "free"), Dimension(Y, 4, "free"), Dimension(W, 8, "fixed"))
    return Contract(
        "m.py:fn",
        dimensions=sizes,
        requirements=needs,
        branches=tuple(Branch(one, at(40 + row), one) for row, one in enumerate(branches)),
    )


def needs(fact: str, row: int, source: str = "torch") -> Requirement:
    return Requirement(fact, source, at(row), fact)


@pytest.mark.parametrize(
    ("given", "dimensions", "lines"),
    [
        (contract(), (2, 2), (0, 0)),
        (contract(needs(f"{X} <= 9", 3)), (2, 2), (1, 1)),
        (contract(branches=(f"{X} >= 7",)), (1, 2), (0, 1)),
        (contract(needs(f"{X} == {Y}", 3), branches=(f"{X} >= 7",)), (0, 2), (1, 2)),
        (contract(needs(f"{X} == 4", 3, SPECIALIZED)), (1, 2), (0, 1)),
        (contract(needs(f"{X} >= 1", 3), needs(f"{Y} >= 1", 3)), (2, 2), (1, 1)),
    ],
)
def test_what_counts(given: Contract, dimensions: tuple[int, int], lines: tuple[int, int]) -> None:
    found = readiness_of(given)
    assert (found.dimensions, found.lines) == (Share(*dimensions), Share(*lines))
    assert len(found.open) == lines[1] - lines[0]


def test_all_together_and_what_is_not_known() -> None:
    failed = Contract("n.py:fn", failure=EntryFailure("raised", "raised ValueError: no"))
    rows = [readiness_of(contract(branches=(f"{X} >= 7",))), readiness_of(failed)]
    dimensions, lines = total(rows)
    assert (dimensions, lines) == (Share(1, 2), Share(0, 1))
    shown = "\n".join(text(rows, dimensions, lines))
    assert "n.py:fn  not known: raised ValueError: no" in shown
    assert "m.py:40  `x.shape[0] >= 7`" in shown
    assert shown.endswith("50% of dimensions and 0% of lines are ready for unbacked sizes")
    assert "| m.py:fn | 1/2 | 0/1 | m.py:40 |" in list(markdown(rows, dimensions, lines))


@pytest.mark.parametrize(
    ("share", "message", "color"),
    [
        (Share(0, 0), "100%", "brightgreen"),
        (Share(199, 200), "99%", "green"),
        (Share(1, 2), "50%", "yellow"),
        (Share(0, 3), "0%", "red"),
    ],
)
def test_the_badge(share: Share, message: str, color: str) -> None:
    found = json.loads(badge(share))
    assert (found["schemaVersion"], found["message"], found["color"]) == (1, message, color)
