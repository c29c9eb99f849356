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
    assert "rows = torch.cat([rows, rows_for_none])[:rows_count]" in program
    assert "elif rows.shape[0] == 0:" in program
    x = torch.arange(8.0).view(4, 2)
    samples = [(x, torch.tensor(keep)) for keep in ([True, False, True, False], [False] * 4, [True] * 4)]
    assert failures(text, program, samples, ("export", "compile")) == []
