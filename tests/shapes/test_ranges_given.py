"""Ranges that a user gives: gaps and overlaps are found with a witness, and their absence is proved."""

from __future__ import annotations

import pytest

from ddelint.nouns.contracts import Branch, Contract, Dimension, Requirement
from ddelint.nouns.diagnostics import Span
from ddelint.shapes.facts import read
from ddelint.shapes.ranges_given import UnreadableRanges, check_ranges, read_ranges, undivided

X, Y = "x.shape[0]", "y.shape[0]"


def contract(*needs: str, branch: str = "") -> Contract:
    sizes = (Dimension(X, 4, "free"), Dimension(Y, 4, "free"))
    branches = (Branch(branch, Span("m.py", 1, 1, 1, 2), branch),) if branch else ()
    return Contract(
        "m", dimensions=sizes, requirements=tuple(Requirement(text, "torch") for text in needs), branches=branches
    )


@pytest.mark.parametrize(
    ("needs", "given"),
    [
        ((), "x.0: 0..1, 2..128, 129.."),
        ((f"{X} <= 8192",), "x.0: 0, 1..128, 129..8192"),
        ((f"{X} >= 1", f"{X} <= 64"), "x.0: 2..64, 1"),
        ((f"{X} % 8 == 0", f"{X} <= 100"), "x.0: 0..24, 32..96"),
        ((f"{X} == {Y}", f"{Y} <= 10"), "y.0: 0..5, 6..10"),
    ],
)
def test_ranges_that_take_each_size_once(needs: tuple[str, ...], given: str) -> None:
    assert check_ranges(contract(*needs), read_ranges(given)) == ([], [])


@pytest.mark.parametrize(
    ("needs", "given", "code"),
    [
        ((), "x.0: 1, 2..128", "DDE411"),
        ((), "x.0: 1, 3..", "DDE411"),
        ((f"{X} <= 64",), "x.0: 0..63", "DDE411"),
        ((f"{X} % 8 == 0",), "x.0: 0..15, 17..", "DDE411"),
        ((), "x.0: 0..128, 128..", "DDE412"),
        ((), "x.0: 0.., 5", "DDE412"),
        ((f"{X} % 8 == 0",), "x.0: 0..16, 16..", "DDE412"),
        ((f"{X} == {Y}",), "y.0: 0..7, 7..", "DDE412"),
    ],
)
def test_gaps_and_overlaps_have_a_witness(needs: tuple[str, ...], given: str, code: str) -> None:
    ranges = read_ranges(given)
    (finding,), undecided = check_ranges(contract(*needs), ranges)
    assert (finding.code, undecided) == (code, [])
    assert finding.witness is not None
    assert all(read(one).holds(finding.witness) for one in needs)
    size = finding.witness[X]
    taken = sum(low <= size and (high is None or size <= high) for low, high in ranges.bounds)
    assert taken == (0 if code == "DDE411" else 2)


def test_a_branch_within_a_range_is_told() -> None:
    branching = contract(branch=f"{X} >= 7")
    assert undivided(branching, read_ranges("x.0: 0..6, 7..")) == []
    assert undivided(branching, read_ranges("x.0: 0..9, 10..")) == [f"0..9: `{X} >= 7`"]


@pytest.mark.parametrize("text", ["x: 1", "x.0", "x.0: ", "x.0: a..b", "x.0: 5..3", "x.-1: 1", "1.0: 2"])
def test_what_says_no_ranges(text: str) -> None:
    with pytest.raises(UnreadableRanges):
        read_ranges(text)
