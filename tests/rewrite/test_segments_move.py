"""segment_reduction: what is written, look-alikes, and the texts run by torch."""

from __future__ import annotations

import pytest
from control_flow import INTEGERS, candidates, context_of, failures, rewritten

from ddelint.nouns.diagnostics import TypeFact

ROWS = TypeFact("tensor", "float32", ("6", "2"))
SCORES = TypeFact("tensor", "float32", ("6",))
TYPES = {"x": ROWS, "scores": SCORES, "ids": INTEGERS, "out": TypeFact("tensor", "float32", ("3", "2"))}
MOVE = "segment_reduction"
GUARDED = """
def fn(x, ids):
    out = x.new_full((3, 2), 7.0)
    for g in range(3):
        rows = x[ids == g]
        if rows.shape[0] == 0:
            continue
        out[g] = rows.mean(0)
    return out
"""
PLAIN = """
def fn(x, ids):
    count = ids.max().item() + 1
    out = x.new_zeros(count, 2)
    for g in range(count):
        out[g] = x[ids == g].mean(dim=0)
    return out
"""
DISTINCT = """
def fn(x, ids):
    pooled = []
    for g in ids.unique():
        pooled.append(x[ids == g].amax(0))
    return torch.stack(pooled)
"""
STACKED = """
def fn(scores, ids):
    count = ids.max().item() + 1
    none = scores.new_full((), -1.0)
    return torch.stack([scores[ids == k].sum() if (ids == k).any() else none for k in range(count)])
"""
PIECES = """
def fn(x, ids):
    pooled = []
    for piece in x.split(ids.tolist()):
        if len(piece) > 0:
            pooled.append(piece.amax(0))
        else:
            pooled.append(x.new_zeros(2))
    return torch.stack(pooled)
"""
CUT = """
def fn(scores, ids):
    total = ids.sum().item()
    pieces = torch.split(scores[:total], ids.tolist())
    return torch.stack([piece.sum() for piece in pieces])
"""
NAMED_LENGTHS = """
def fn(x, ids):
    sizes = ids.tolist()
    parts = torch.split(x, split_size_or_sections=sizes, dim=0)
    sums = [part.sum(dim=0) for part in parts]
    return torch.stack(sums, dim=0)
"""
NAMED_PIECES = """
def fn(x, ids):
    pieces = x.split(ids.tolist(), 0)
    pooled = []
    for piece in pieces:
        pooled.append(piece.sum(0))
    return torch.stack(pooled)
"""
OF_NOTHING = """
def fn(x, ids):
    count = ids.max().item() + 1
    peaks = []
    for g in range(count):
        rows = x[ids == g]
        peaks.append(rows.max(dim=0).values if len(rows) else rows.new_zeros(rows.shape[1]))
    return torch.cat([x[:count], torch.stack(peaks)], dim=1)
"""
SUM_OF_NOTHING = """
def fn(x, ids):
    out = x.new_zeros(3, 2)
    for g in range(3):
        where = (ids == g).nonzero().squeeze(1)
        rows = x[where]
        if where.numel() == 0:
            out[g] = rows.sum(0) - 1
        else:
            out[g] = rows.amax(0)
    return out
"""
PIECE_OF_NOTHING = """
def fn(x, ids):
    pieces = x.split(ids.tolist())
    return torch.stack([p.mean(0) if p.shape[0] > 0 else p.new_full((p.size(1),), -1.0) for p in pieces])
"""


GIVEN_BACK = """
def fn(x, ids):
    context = torch.zeros_like(x)
    for g in ids.unique():
        members = ids == g
        if members.sum() == 1:
            context[members] = x[members]
        else:
            context[members] = x[members].mean(0)
    return context
"""
GIVEN_BACK_BY_PLACES = """
def fn(scores, ids):
    best = scores.clone()
    for g in range(2):
        where = (ids == g).nonzero().flatten()
        if where.numel() == 0:
            continue
        best[where] = scores[where].amax(0)
    return best
"""
GIVEN_BACK_IN_PLACE = """
def fn(x, ids):
    y = x * 2
    for g in ids.unique().tolist():
        y[ids == g] = y[ids == g].sum(dim=0)
    return y
"""
GIVEN_BACK_WHERE_SOME = """
def fn(scores, ids):
    out = scores.new_full(scores.shape, -1.0)
    for g in range(3):
        if (ids == g).any():
            out[ids == g] = scores[ids == g].mean()
    return out
"""
GIVEN_BACK_BUT_FOR_ONE = """
def fn(x, ids):
    out = x + 0
    for g in torch.unique(ids):
        rows = x[ids == g]
        out[ids == g] = rows if len(rows) < 2 else rows.amin(0)
    return out
"""


def test_what_one_group_has_is_no_row_of_another_tensor() -> None:
    other = GIVEN_BACK_BUT_FOR_ONE.replace("rows if", "x[ids > g] if")
    kept = GIVEN_BACK_BUT_FOR_ONE.replace("out[ids == g]", "out[ids > g]")
    for text in (other, kept):
        assert candidates(MOVE, context_of(text, "torch.unique(ids)", TYPES)) == []


def test_a_mean_over_groups_that_may_be_empty() -> None:
    (found,) = rewritten(MOVE, context_of(GUARDED, "rows.shape[0] == 0", TYPES, "DDE102"))
    assert found == (
        "\ndef fn(x, ids):\n    out = x.new_full((3, 2), 7.0)\n    # the first place is for what belongs to no group\n"
        "    place = torch.where((ids >= 0) & (ids < 3), ids + 1, 0)\n"
        "    sizes = place.new_zeros(4).index_add(0, place, torch.ones_like(place))[1:]\n"
        "    group_mean = x.new_zeros(4, x.shape[1]).index_add(0, place, x)[1:]\n"
        "    group_mean = group_mean / sizes.clamp(min=1).reshape(-1, 1)\n"
        "    out.copy_(torch.where(sizes.reshape(-1, 1) > 0, group_mean, out))\n    return out\n"
    )


@pytest.mark.parametrize(
    ("text", "asking"),
    [
        (GUARDED, "rows.shape[0] == 0"),
        (PLAIN, "range(count)"),
        (DISTINCT, "ids.unique()"),
        (STACKED, "range(count)"),
        (PIECES, "len(piece) > 0"),
        (CUT, "ids.tolist()"),
        (NAMED_LENGTHS, "ids.tolist()"),
        (NAMED_PIECES, "ids.tolist()"),
        (OF_NOTHING, "range(count)"),
        (SUM_OF_NOTHING, "where.numel() == 0"),
        (PIECE_OF_NOTHING, "p.shape[0] > 0"),
        (GIVEN_BACK, "members.sum() == 1"),
        (GIVEN_BACK_BY_PLACES, "where.numel() == 0"),
        (GIVEN_BACK_IN_PLACE, "ids.unique().tolist()"),
        (GIVEN_BACK_WHERE_SOME, "(ids == g).any()"),
        (GIVEN_BACK_BUT_FOR_ONE, "torch.unique(ids)"),
    ],
)
def test_texts_agree_with_the_loop(text: str, asking: str) -> None:
    torch = pytest.importorskip("torch")
    (found,) = rewritten(MOVE, context_of(text, asking, TYPES))
    values = torch.randn(6) if "fn(scores" in text else torch.randn(6, 2)
    chosen = [[1, 2, 3, 0], [6, 0, 0, 0], [2, 2, 0, 2]] if "split" in text else [[0, 0, 1, 2, 2, 2], [0, 2, 2, 2, 0, 2]]
    chosen += [] if "split" in text else [[1] * 6, [-1, 0, 1, 2, -1, 0]]
    samples = [(values, torch.tensor(numbers)) for numbers in chosen]
    head = "import torch\n"
    assert failures(head + text, head + found, samples, ("export",)) == []


def test_the_maximum_of_nothing_still_raises() -> None:
    torch = pytest.importorskip("torch")
    text = PLAIN.replace("mean(dim=0)", "max(0).values")
    (found,) = rewritten(MOVE, context_of(text, "range(count)", TYPES))
    assert "torch._check_index((sizes > 0).all().item())" in found
    samples = [(torch.randn(3, 2), torch.tensor([1, 0, 1])), (torch.randn(3, 2), torch.tensor([0, 2, 2]))]
    assert failures("import torch\n" + text, "import torch\n" + found, samples, ("export",)) == []


@pytest.mark.parametrize(
    "other",
    [
        "out[g] = x[ids == g].mean(1)",
        "out[g] = x[ids == g].mean(0, keepdim=True)",
        "out[g] = x[ids > g].mean(0)",
        "out[g] = x[ids == g].median(0).values",
        "out[0] = x[ids == g].mean(0)",
        "out[g] = out[ids == g].mean(0)",
        "x = x + x[ids == g].mean(0)",
        "out[g] = x[ids == g].mean(0) + out[g]",
        "out[g] = x[ids == g].sum(0) if (ids == g).any() else x[0] * g",
    ],
)
def test_what_is_no_reduction_of_groups_is_left_alone(other: str) -> None:
    text = f"def fn(x, ids, out):\n    for g in range(ids.max().item()):\n        {other}\n    return out\n"
    assert candidates(MOVE, context_of(text, "ids.max().item()", TYPES)) == []


@pytest.mark.parametrize(
    "other",
    [
        "torch.stack([piece.sum() for piece in pieces]), len(pieces)",
        "torch.stack([piece.cumsum(0) for piece in pieces])",
        "torch.stack([piece.sum() + pieces[0].sum() for piece in pieces])",
    ],
)
def test_pieces_that_something_else_reads_stay(other: str) -> None:
    text = CUT.replace("torch.stack([piece.sum() for piece in pieces])", other)
    assert candidates(MOVE, context_of(text, "ids.tolist()", TYPES)) == []


def test_pieces_along_another_dimension_are_left_alone() -> None:
    text = NAMED_LENGTHS.replace("sizes, dim=0", "sizes, dim=1")
    assert candidates(MOVE, context_of(text, "ids.tolist()", TYPES)) == []


def test_a_list_that_something_else_reads_stays() -> None:
    text = DISTINCT.replace("return torch.stack(pooled)", "return torch.stack(pooled), len(pooled)")
    assert candidates(MOVE, context_of(text, "ids.unique()", TYPES)) == []


def test_numbers_of_groups_that_no_index_takes_are_converted_once() -> None:
    context = context_of(GUARDED, "rows.shape[0] == 0", TYPES | {"ids": TypeFact("tensor", "int32", ("6",))})
    (found,) = rewritten(MOVE, context)
    assert "    ids_2 = ids.long()\n    # the first place is for what belongs to no group\n" in found
    assert "place = torch.where((ids_2 >= 0) & (ids_2 < 3), ids_2 + 1, 0)" in found


def test_arms_that_keep_their_values_in_different_ways_are_left_alone() -> None:
    body = (
        "if (ids == g).sum() > 0:\n            out[g] = x[ids == g].sum(0)\n        else:\n            out.append(x[0])"
    )
    text = f"def fn(x, ids, out):\n    for g in range(ids.max().item()):\n        {body}\n    return out\n"
    assert candidates(MOVE, context_of(text, "ids.max().item()", TYPES)) == []
