"""Branches that cut what is too long and keep the rest: said so that both arms give as much."""

from __future__ import annotations

import ast

import pytest
from control_flow import context_of, failures

from ddelint.nouns.diagnostics import TypeFact
from ddelint.rewrite.moves import load_moves
from ddelint.rewrite.parts.respelling import respelled
from ddelint.rewrite.search.offering import in_order

ROWS = TypeFact("tensor", "float32", ("u0",))
TYPES = {"x": ROWS, "y": ROWS, "i": TypeFact("tensor", "int64", ("?",)), "k": TypeFact("int")}
HEAD = "import torch\n\n\ndef fn(x, k):\n    x = x[x > 0]\n"
PROGRAMS = {
    "sorted": (
        "    if x.shape[0] > k:\n        y, i = torch.topk(x, k)\n    else:\n        y, i = x.sort(descending=True)\n"
    ),
    "kept": "    if x.numel() <= k:\n        y = x\n    else:\n        y = x.topk(k).values\n",
    "places": (
        "    if k < x.shape[0]:\n        i = x.argsort()[:k]\n"
        "    else:\n        i = torch.arange(x.shape[0], device=x.device)\n"
        "    y = x[i]\n"
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("body", PROGRAMS.values(), ids=PROGRAMS)
def test_both_arms_give_as_much_and_what_they_gave(body: str) -> None:
    import torch

    text, test = HEAD + body + "    return y\n", body.partition("if ")[2].partition(":")[0]
    load_moves()
    context = context_of(text, test, TYPES)
    offered = [context.site.source.apply(each.edits) for each in in_order(["where_merge"], context)]
    values = ([0.5, -1.0, 2.0, 1.0, 3.0], [-1.0, 2.0, 1.0, -3.0, 0.5], [-1.0, -2.0, 1.0, 1.0, 1.0])
    samples = [(torch.tensor(one), 3) for one in values]
    assert "sym_min" in offered[0]
    assert failures(text, offered[0], samples, ("export", "compile")) == []


@pytest.mark.parametrize(
    "body",
    [
        "if x.shape[0] > k:\n        y = x.topk(k).values\n    else:\n        z = x",
        "if x.shape[0] > k:\n        y = x * k\n    else:\n        y = x",
        "if x.shape[0] == k:\n        y = x[:k]\n    else:\n        y = x",
    ],
)
def test_what_is_no_such_pair_stays(body: str) -> None:
    text = HEAD + f"    {body}\n    return x\n"
    asking = ast.unparse(ast.parse(text).body[-1].body[1].test)  # type: ignore[attr-defined]
    assert list(respelled(context_of(text, asking, TYPES))) == []
