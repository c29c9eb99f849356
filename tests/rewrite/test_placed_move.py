"""stored_in_view, read_in_view: what is written in the place of a store or read at a number from data."""

from __future__ import annotations

import pytest
from control_flow import COUNT, context_of, load, rewritten

from ddelint.nouns.diagnostics import TypeFact

GRID = TypeFact("tensor", "float32", ("3", "4", "2"))
ROW = TypeFact("tensor", "float32", ("3", "2"))
INDEX = TypeFact("tensor", "int64", ())
TYPES = {"x": GRID, "v": ROW, "w": TypeFact("tensor", "float32", ("2",)), "n": COUNT, "t": INDEX, "mask": ROW}


def text(line: str) -> str:
    return f"import torch\n\n\ndef fn(x, v, w, n, t):\n    {line}\n    return x\n"


@pytest.mark.parametrize(
    ("line", "place", "expected"),
    [
        ("x[:, n] = v", "x[:, n]", "x.select(1, n).copy_(v)"),
        ("x[n, 2] = w * 2", "x[n, 2]", "x.select(0, n).select(0, 2).copy_(w * 2)"),
        ("x[1, n - 1, 0] = -1.0", "x[1, n - 1, 0]", "x.select(0, 1).select(0, n - 1).select(0, 0).fill_(-1.0)"),
        ("x[:, t] += v", "x[:, t]", "x.select(1, t.item()).add_(v)"),
        ("x[n] *= n", "x[n]", "x.select(0, n).mul_(n)"),
    ],
)
def test_a_view_of_the_place_takes_the_value(line: str, place: str, expected: str) -> None:
    import torch

    (new,) = rewritten("stored_in_view", context_of(text(line), place, TYPES, "DDE202"))
    assert new == text(expected)
    values = [torch.arange(24.0).reshape(3, 4, 2), torch.rand(3, 2), torch.rand(2), 2, torch.tensor(3)]
    expected_value = load(text(line))(*[value.clone() if hasattr(value, "clone") else value for value in values])
    assert torch.equal(load(new)(*values), expected_value)


@pytest.mark.parametrize(
    ("line", "place"),
    [
        ("x[1:, n] = 0", "x[1:, n]"),
        ("x[v > 0] = 0", "x[v > 0]"),
        ("x[..., n] = 0", "x[..., n]"),
        ("x[n] = [v, v]", "x[n]"),
        ("x[n] //= 2", "x[n]"),
        ("w = x[n]", "x[n]"),
    ],
)
def test_other_places_stay(line: str, place: str) -> None:
    assert rewritten("stored_in_view", context_of(text(line), place, TYPES, "DDE202")) == []


READS = [
    ("y = x[:, n]", "x[:, n]", "y = x.select(1, n)"),
    ("y = x[1, n] + x[n, 2]", "x[1, n]", "y = x.select(0, 1).select(0, n) + x.select(0, n).select(0, 2)"),
    ("y = fn(x[n, n - 1, 0])", "x[n, n - 1, 0]", "y = fn(x.select(0, n).select(0, n - 1).select(0, 0))"),
    ("y = x[t, :].sum()", "x[t, :]", "y = x.select(0, t.item()).sum()"),
    ("y = x[0, int(x[0, n, 1])]", "x[0, n, 1]", "y = x[0, int(x.select(0, 0).select(0, n).select(0, 1))]"),
]


@pytest.mark.parametrize(("line", "place", "expected"), READS)
def test_a_view_of_the_place_is_read(line: str, place: str, expected: str) -> None:
    assert rewritten("read_in_view", context_of(text(line), place, TYPES, "DDE202")) == [text(expected)]


@pytest.mark.parametrize(
    ("line", "place"), [("y = x[n]", "x[n]"), ("y = x[1:, n]", "x[1:, n]"), ("x[0, n] = 1", "x[0, n]")]
)
def test_other_reads_stay(line: str, place: str) -> None:
    assert rewritten("read_in_view", context_of(text(line), place, TYPES, "DDE202")) == []
