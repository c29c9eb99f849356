"""Of two pieces of one tensor, where they begin and end is chosen."""

from __future__ import annotations

import pytest
from control_flow import TENSOR, candidates, context_of, load

from ddelint.nouns.diagnostics import TypeFact
from ddelint.rewrite.parts.pieces import chosen_piece

TYPES = {"x": TENSOR, "y": TENSOR}


def chosen(first: str, second: str) -> str:
    """The piece as code; empty where there is none."""
    write = context_of("def fn(x, y):\n    return x\n", "x", TYPES).write
    found = chosen_piece(write, write.expr("t"), write.expr(first), write.expr(second))
    return "" if found is None else write.code(found)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("x[:4]", "x[a:b]", "x[torch.where(t, 0, a).item() : torch.where(t, 4, b).item()]"),
        ("x", "x[a:b]", "x[torch.where(t, 0, a).item() : torch.where(t, x.shape[0], b).item()]"),
        ("x[:n]", "x", "x[: torch.where(t, n, x.shape[0]).item()]"),
        ("x[a:]", "x[b:]", "x[torch.where(t, a, b).item() :]"),
        ("x[a : a + n]", "x[a:b]", "x[a : torch.where(t, a + n, b).item()]"),
        ("x[:, :n]", "x", "x[:, : torch.where(t, n, x.shape[1]).item()]"),
        ("self.x[:2]", "self.x[:n]", "self.x[: torch.where(t, 2, n).item()]"),
        # of one length, of two tensors, along two dimensions, in steps; and what is no piece
        ("x[:4]", "x[2:6]", ""),
        ("x[:h]", "x[h:]", ""),
        ("x[:, n : 2 * n]", "x[:, :n]", ""),
        ("x[i : i + n]", "x[j : j + n]", ""),
        ("x[:n]", "y[:m]", ""),
        ("x[:n]", "x[:, :n]", ""),
        ("x[::2]", "x[:n]", ""),
        ("x[0]", "x[:n]", ""),
        ("x[mask]", "x", ""),
        ("x", "y", ""),
    ],
)
def test_where_a_piece_begins_and_ends_is_chosen(first: str, second: str, expected: str) -> None:
    assert chosen(first, second) == expected


@pytest.mark.parametrize(
    "body",
    [
        "    n = (x > 1).sum().item()\n    if n == 0:\n        return x\n    return x[:n]\n",
        "    n = (x > 1).sum().item()\n    if n > 2:\n        x = x[n:]\n    return x\n",
        "    n = (x > 0).sum().item()\n    return x[1:n] if n > 1 else x[:2]\n",
    ],
)
def test_what_is_cut_on_one_side_alone_is_as_long_as_it_was(body: str) -> None:
    import torch

    text = f"import torch\n\n\ndef fn(x, y):\n{body}"
    asked = next(part for part in ("n == 0", "n > 2", "n > 1") if part in body)
    context = context_of(text, asked, {**TYPES, "n": TypeFact("int", python_type="int")})
    found = [context.site.source.apply(one.edits) for one in candidates("where_merge", context)]
    plain = [one for one in found if "is_compiling" not in one][:1]  # what comes behind it is for other tensors
    assert plain
    original = load(text)
    for seed in range(8):
        x = torch.randn(5, generator=torch.Generator().manual_seed(seed)) * 2
        for one in plain:
            assert torch.equal(load(one)(x, x), original(x, x)), one
