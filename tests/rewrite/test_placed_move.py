"""stored_in_view, read_in_view: what is written in the place of a store or read at a number from data."""

from __future__ import annotations

import pytest
from control_flow import COUNT, context_of, failures, load, rewritten

from ddelint.nouns.diagnostics import TypeFact

GRID = TypeFact("tensor", "float32", ("3", "4", "2"))
ROW = TypeFact("tensor", "float32", ("3", "2"))
INDEX = TypeFact("tensor", "int64", ())
ROWS = TypeFact("tensor", "int64", ("u0",))
FLAT = TypeFact("tensor", "bool", ("3", "4"))
TYPES = {
    "rows": ROWS,
    "flat": FLAT,
    "hit": TypeFact("tensor", "bool", ("4",)),
    "what": TypeFact("list"),
    "x": GRID,
    "v": ROW,
    "w": TypeFact("tensor", "float32", ("2",)),
    "n": COUNT,
    "t": INDEX,
    "mask": ROW,
}


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


PICKS = [
    ("y = x[n, rows]", "y = x.select(0, n)[rows]"),
    ("y = x[rows, n] * 2", "y = x.select(1, n)[rows] * 2"),
    ("y = x[n, :, rows[:1]]", "y = x.select(0, n)[:, rows[:1]]"),
    ("y = x[n, hit, 1:]", "y = x.select(0, n)[hit, 1:]"),
    ("y = x[flat, n - 1]", "y = x.select(2, n - 1)[flat]"),
    ("y = x[None, t, [0, 2], 1]", "y = x.select(0, t.item()).select(1, 1)[None, [0, 2]]"),
    ("x[n, rows] = w", "x.select(0, n)[rows] = w"),
    ("x[rows, n] -= w", "x.select(1, n)[rows] -= w"),
    ("x[n, hit] = 0.5", "x.select(0, n)[hit] = 0.5"),
    ("x[n, rows] //= 3", "x.select(0, n)[rows] //= 3"),
]


def picking(line: str) -> str:
    head = "import torch\n\n\ndef fn(x, w, t, rows, hit, flat):\n    x, y = x * 1, x[0]\n    n = t.item()\n"
    return head + f"    torch._check(n > 0)\n    torch._check(n < 2)\n    {line}\n    return y, x\n"


@pytest.mark.parametrize(("line", "expected"), PICKS)
def test_what_tensors_pick_at_a_number_is_picked_of_a_view(line: str, expected: str) -> None:
    import torch

    place = line.removeprefix("y = ").partition(" ")[0] if line.startswith("x") else line[4:].partition(" *")[0]
    move = "stored_in_view" if line.startswith("x") else "read_in_view"
    (new,) = rewritten(move, context_of(picking(line), place, TYPES, "DDE202"))
    assert new == picking(expected)
    x, w, t = torch.arange(24.0).reshape(3, 4, 2), torch.rand(2), torch.tensor(1)
    sample = (x, w, t, torch.tensor([0, 2]), torch.tensor([True, False, True, True]), x[..., 0] > 3)
    assert failures(picking(line), new, [sample], ("export", "compile")) == []


@pytest.mark.parametrize("place", ["x[what, n]", "x[..., n, rows]", "x[n, 1:]", "x[mystery, n]", "x[n, 1:, what]"])
def test_what_is_picked_by_anything_else_stays(place: str) -> None:
    assert rewritten("read_in_view", context_of(picking(f"y = {place}"), place, TYPES, "DDE202")) == []
