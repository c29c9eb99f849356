"""store_all_rows: what is written, what is left alone, and the texts run by torch."""

from __future__ import annotations

import pytest
from control_flow import candidates, context_of, failures, with_imports

from ddelint.nouns.diagnostics import TypeFact

TYPES = {
    "x": TypeFact("tensor", "float32", ("u0", "4")),
    "w": TypeFact("tensor", "float32", ("u0",)),
    "ids": TypeFact("tensor", "int64", ("u0",)),
    "cells": TypeFact("tensor", "int64", ("u0", "2")),
    "edges": TypeFact("tensor", "int64", ("2", "u0")),
    "out": TypeFact("tensor", "float32", ("6", "4")),
    "grid": TypeFact("tensor", "float32", ("6", "6")),
    "canvas": TypeFact("tensor", "float32", ("4", "6", "6")),
    "seen": TypeFact("tensor", "int64", ("6",)),
}
MOVE = "store_all_rows"
LOOPS = [
    ("for v, (r, c) in zip(x, cells.tolist()):", "        canvas[:, r, c] = v\n"),
    ("for i, k in enumerate(ids.tolist()):", "        out[k] = x[i]\n"),
    ("for i in range(len(ids)):", "        out[ids[i]] = x[i] * w[i]\n"),
    ("for (r, c), v in zip(cells, w):", "        grid[int(r), int(c)] += v\n"),
    ("for r, c in cells.tolist():", "        grid[r][c] = 1.0\n        seen[r] += 1\n"),
    (
        "for i in range(edges.shape[1]):",
        "        a, b = edges[0, i].item(), edges[1, i].item()\n"
        "        grid[a, b] += w[i]\n        grid[b, a] += w[i]\n",
    ),
    ("for i in range(edges.shape[1]):", "        src, dst = edges[:, i].tolist()\n        out[dst] += x[i]\n"),
    ("for cell, v in zip(cells, w):", "        row = cell[0].item()\n        grid[row, cell[1]] = v + 1\n"),
    ("for k, v in zip(ids, x):", "        canvas[:, k, 2] -= v\n"),
    ("for k, v in zip(ids.tolist(), w):", "        out[k, 1:3] = v\n        grid[2 * k // 2, k] = 0.0\n"),
    ("for k in ids.tolist():", "        out[k] += 0.5\n"),
    (
        "for v, (r, c) in zip(x, cells.tolist()):",
        "        canvas.select(1, r).select(1, c).copy_(v)\n        out.select(1, 2).select(0, c).sub_(v[1])\n",
    ),
    ("for n, k in enumerate(ids):", "        seen[k] = n\n"),
    ("for b, k in enumerate(torch.unique(ids).tolist()):", "        grid[k, 0] = b\n"),
]


def text_of(loop: str, body: str) -> str:
    return (
        "import torch\n\n\ndef fn(x, w, cells, mask):\n    x, w, cells = x[mask], w[mask], cells[mask]\n"
        "    ids, edges = cells[:, 0], cells.t()\n"
        "    out, grid, canvas = torch.zeros(6, 4), torch.zeros(6, 6), torch.zeros(4, 6, 6)\n"
        "    seen = torch.zeros(6, dtype=torch.long)\n"
        f"    {loop}\n{body}    return out, grid, canvas, seen\n"
    )


@pytest.mark.parametrize(("loop", "body"), LOOPS)
def test_the_texts_agree_with_the_loop_where_several_rows_name_one_place(loop: str, body: str) -> None:
    import torch

    text = text_of(loop, body)
    program, *_ = with_imports(MOVE, context_of(text, loop.rsplit(" in ", 1)[1], TYPES, "DDE203"))
    assert "for " not in program
    generator = torch.Generator().manual_seed(0)
    samples = [
        (
            torch.randn(5, 4, generator=generator),
            torch.randn(5, generator=generator),
            torch.randint(0, 6, (5, 2), generator=generator) if rows else torch.tensor([[1, 2], [3, 2]] * 2 + [[1, 2]]),
            torch.tensor([True, rows, True, rows, True]) if kept else torch.zeros(5, dtype=torch.bool),
        )
        for rows in (True, False)
        for kept in (True, False)
    ]
    assert failures(text, program, samples, ("export",)) == []


@pytest.mark.parametrize("dtype", ["float16", "float64"])
def test_rows_are_converted_as_by_a_store_at_one_place(dtype: str) -> None:
    import torch

    body = "        canvas[:, r, c] = v\n        out[c] += v\n"
    text = text_of("for v, (r, c) in zip(x, cells.tolist()):", body)
    program, *_ = with_imports(MOVE, context_of(text, "zip(x, cells.tolist())", TYPES, "DDE203"))
    rows = torch.arange(20.0).view(5, 4).to(getattr(torch, dtype))
    cells = torch.tensor([[1, 2], [3, 2], [1, 2], [0, 0], [5, 5]])
    assert failures(text, program, [(rows, rows[:, 0], cells, torch.ones(5, dtype=torch.bool))], targets=()) == []


@pytest.mark.parametrize(
    "places", ["torch.unique(ids)", "ids[torch.unique(ids)]", "(torch.unique(ids) // 2)", "torch.nonzero(ids)[:, 0]"]
)
def test_a_place_that_comes_twice_keeps_the_last_row_wherever_places_come_from(places: str) -> None:
    """Of two rows for one place a GPU keeps either; -1 and the last place are one as well."""
    text = text_of(f"for b, k in enumerate({places}.tolist()):", "        grid[k, 0] = w[b]\n")
    program, *_ = with_imports(MOVE, context_of(text, f"enumerate({places}.tolist())", TYPES, "DDE203"))
    assert "scatter_reduce" in program


def test_a_definition_that_the_loop_alone_read_goes_with_it() -> None:
    text = text_of("for v, (r, c) in pairs:", "        canvas[:, r, c] = v\n")
    text = text.replace("    for v", "    pairs = zip(x, cells.tolist())\n    for v")
    program, *_ = with_imports(MOVE, context_of(text, "pairs:", TYPES, "DDE203"))
    assert "pairs" not in program
    assert "cells = x[mask], w[mask], cells[mask]" in program


@pytest.mark.parametrize(
    ("loop", "body"),
    [
        ("for k, v in zip(ids.tolist(), x):", "        out[k] = v + out[0]\n"),
        ("for k, v in zip(ids.tolist(), x):", "        out[k] = v\n        out[0] = v\n"),
        ("for k, v in zip(ids.tolist(), x):", "        out[k] *= v\n"),
        ("for k, v in zip(ids.tolist(), x):", "        out[k] = v\n        print(k)\n"),
        ("for k, v in zip(ids.tolist(), x):", "        if k > 2:\n            out[k] = v\n"),
        ("for k, v in zip(ids.tolist(), x):", "        out[k] = v.sort().values\n"),
        ("for k, v in zip(ids.tolist(), x):", "        out[k] = torch.rand(4)\n"),
        ("for k, v in zip(ids.tolist(), x):", "        out[k : k + 1] = v\n"),
        ("for k, v in zip(ids.tolist(), x):", "        canvas[k, :, k] = v[0]\n"),
        ("for k, v in zip(ids.tolist(), x):", "        out = out + v\n        out[k] = v\n"),
        ("for k, v in zip(ids.tolist(), w):", "        out[v] = k\n"),
        ("for k in range(3):", "        out[k] = 1.0\n"),
        ("for k in ids.tolist():", "        seen[k] += 0.5\n"),
        ("for k, v in zip(ids.tolist(), w):", "        seen[k] -= v\n"),
        ("for k, v in zip(ids.tolist(), x):", "        v = v * 2\n"),
    ],
)
def test_what_is_no_store_of_each_row_is_left_alone(loop: str, body: str) -> None:
    context = context_of(text_of(loop, body), loop.rsplit(" in ", 1)[1], TYPES, "DDE203")
    assert candidates(MOVE, context) == []


def test_places_of_eight_bits_are_no_mask() -> None:
    text = text_of("for k in ids.tolist():", "        out[k] = 1.0\n")
    types = {**TYPES, "ids": TypeFact("tensor", "uint8", ("u0",))}
    program, *_ = with_imports(MOVE, context_of(text, "ids.tolist()", types, "DDE203"))
    assert "out[ids.long()] = 1.0" in program


def test_a_name_that_is_read_behind_the_loop_stays() -> None:
    text = text_of("for k, v in zip(ids.tolist(), x):", "        out[k] = v\n").replace("return out", "return k, out")
    assert candidates(MOVE, context_of(text, "zip(ids.tolist(), x)", TYPES, "DDE203")) == []
