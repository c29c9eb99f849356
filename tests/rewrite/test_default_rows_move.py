"""default_rows: a default of one row where there is nothing."""

from __future__ import annotations

import pytest
from control_flow import TENSOR, candidates, context_of, failures, rewritten, with_imports

from ddelint.nouns.diagnostics import TypeFact

ROWS = TypeFact("tensor", "int64", ("u0",))
TYPES = {"x": TENSOR, "rows": ROWS, "boxes": TypeFact("tensor", "float32", ("u0", "4")), "n": TypeFact("int")}
CUT = "[: torch.sym_max(rows.shape[0], 1)]"


@pytest.mark.parametrize(
    ("body", "test", "lines"),
    [
        (
            "if rows.shape[0] == 0:\n        rows = x.argmax().unsqueeze(0)",
            "rows.shape[0] == 0",
            f"rows = torch.cat([rows, x.argmax().unsqueeze(0)]){CUT}",
        ),
        (
            "if not rows.numel():\n        rows = torch.tensor([0])",
            "not rows.numel()",
            f"rows = torch.cat([rows, torch.tensor([0])]){CUT}",
        ),
        (
            "if n < 1:\n        rows = x.argmax()[None]\n    elif n > 3:\n        rows = rows[:3]",
            "n < 1",
            f"rows = torch.cat([rows, x.argmax()[None]]){CUT}\n    if n > 3:\n        rows = rows[:3]",
        ),
        (
            "rows = rows if len(rows) > 0 else torch.zeros(1, dtype=torch.long)",
            "len(rows) > 0",
            f"rows = torch.cat([rows, torch.zeros(1, dtype=torch.long)]){CUT}",
        ),
        (
            "if 0 == n or n == 0:\n        pass\n    rows = x.argmax().view(1) if rows.numel() == 0 else rows",
            "rows.numel() == 0",
            f"rows = torch.cat([rows, x.argmax().view(1)]){CUT}",
        ),
        (
            "if rows.size(0) == 0:\n        rows = rows.new_zeros(1)\n        boxes = boxes.new_zeros((1, 4))",
            "rows.size(0) == 0",
            "boxes = torch.cat([boxes, boxes.new_zeros((1, 4))])[: torch.sym_max(boxes.shape[0], 1)]",
        ),
    ],
)
def test_a_default_stands_behind_what_there_is(body: str, test: str, lines: str) -> None:
    text = f"import torch\n\n\ndef fn(x, rows, boxes, n):\n    {body}\n    return rows, boxes\n"
    (found,) = rewritten("default_rows", context_of(text, test, TYPES, "DDE102"))
    assert lines in found


@pytest.mark.parametrize(
    "body",
    [
        "if n == 1:\n        rows = x.argmax()[None]",
        "if n == 0:\n        rows = x.argsort()\n    else:\n        rows = rows + 1",
        "if n == 0:\n        rows = x.argmax()[None]\n        return rows, boxes",
        "if n == 0:\n        n = torch.zeros(1)",
        "if n == 0:\n        rows = x.argsort()\n        rows = rows + 1",
        "if n == 0:\n        rows = torch.rand(1).long()",
    ],
)
def test_what_is_no_row_for_nothing_is_left_alone(body: str) -> None:
    text = f"import torch\n\n\ndef fn(x, rows, boxes, n):\n    {body}\n    return rows, boxes\n"
    test = body.partition("if ")[2].partition(":")[0]
    assert candidates("default_rows", context_of(text, test, TYPES, "DDE102")) == []


def test_a_default_of_several_rows_is_cut_off_as_a_whole() -> None:
    import torch

    text = (
        "import torch\n\n\ndef fn(x, keep):\n    rows = x[keep]\n    if rows.shape[0] == 0:\n"
        "        rows = x.flatten(0, 0)\n    return rows.softmax(0).mean(0)\n"
    )
    (program,) = with_imports("default_rows", context_of(text, "rows.shape[0] == 0", TYPES, "DDE102"))
    assert "rows = rows[torch.arange(rows.shape[0], device=rows.device) < rows_count]" in program
    assert "elif rows.shape[0] == 0:" in program
    x = torch.arange(8.0).view(4, 2)
    samples = [(x, torch.tensor(keep)) for keep in ([True, False, True, False], [False] * 4, [True] * 4)]
    assert failures(text, program, samples, ("export", "compile")) == []


PIECES = """import torch


def fn(x, t):
    found, labels = [], []
    for k in range(3):
        keep = x[:, k] > t
        if not keep.any():
            continue
        found.append(x[keep])
        labels.append(torch.full_like(x[keep, 0], k))
    if len(found) == 0:
        best = x.max(0).values
        return best[None], best[:1]
    return torch.cat(found), torch.cat(labels)
"""


def test_a_default_stands_behind_pieces_that_no_iteration_appends() -> None:
    import torch

    (program,) = with_imports("default_rows", context_of(PIECES, "keep.any()", TYPES | {"t": TENSOR}, "DDE105"))
    assert "found_joined = torch.cat([found_joined, found_for_none])[:found_count]" in program
    assert program.count("best = x.max(0).values") == 1
    x = torch.arange(12.0).view(4, 3)
    samples = [(x, torch.tensor(least)) for least in (5.0, 9.5, 20.0, -1.0)]
    assert failures(PIECES, program, samples, ("export", "compile")) == []
    old, new = (text.replace("range(3)", "range(0)") for text in (PIECES, program))  # not even a piece of no rows
    assert failures(old, new, samples[:1], ("export", "compile")) == []


def test_what_a_piece_is_made_of_may_be_nothing() -> None:
    import torch

    text = PIECES.replace("x[keep])", "x[keep] - x[keep].min())")
    (program,) = with_imports("default_rows", context_of(text, "keep.any()", TYPES | {"t": TENSOR}, "DDE105"))
    x = torch.arange(12.0).view(4, 3)
    samples = [(x, torch.tensor(least)) for least in (5.0, 9.5, 20.0, -1.0)]
    assert failures(text, program, samples, ("export", "compile")) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("len(found) == 0", "len(found) < 3"),
        ("torch.cat(labels)", "torch.stack(labels)"),
        ("return best[None], best[:1]", "return best[None]"),
        ("x.max(0).values", "torch.rand(3)"),
        ("continue", "break"),
        ("0], k))", "0], k))\n        t = t + x[keep].mean()"),
        ("0], k))", "0], k))\n        if k == 1:\n            break"),
        ("        keep = x", "        found.append(x[:0])\n        keep = x"),
        ("found.append(x[keep])", "rows = x[keep]\n        found.append(rows[rows[:, 0] < 9])"),
        ("found.append(x[keep])", "rows = x[keep]\n        found.append(rows[rows[:, 0].nonzero()[:, 0]])"),
        ("found, labels = [], []", "found, labels = [x[:0]], [x[:0, 0]]"),
        ("found.append(x[keep])", "x[keep] = 0\n        found.append(x[keep])"),
        ("return torch.cat(found), torch.cat(labels)", "return torch.cat(found), torch.cat(found)"),
    ],
)
def test_what_is_no_default_for_pieces_is_left_alone(old: str, new: str) -> None:
    text = PIECES.replace(old, new)
    assert candidates("default_rows", context_of(text, "keep.any()", TYPES | {"t": TENSOR}, "DDE105")) == []
