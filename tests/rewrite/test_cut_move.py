"""cut_or_keep: what is cut to a length under a condition."""

from __future__ import annotations

import pytest
from control_flow import candidates, context_of, failures

from ddelint.nouns.diagnostics import TypeFact
from ddelint.rewrite.moves import load_moves
from ddelint.rewrite.search.offering import in_order

PLACES = TypeFact("tensor", "int64", ("u1",))
TYPES = {
    "x": TypeFact("tensor", "int64", ("u0",)),
    "y": TypeFact("tensor", "int64", ("u0",)),
    "ends": PLACES,
    "ends[0]": TypeFact("tensor", "int64", ()),
    "n": TypeFact("symint"),
    "flag": TypeFact("tensor", "bool", ()),
}
HEAD = (
    "import torch\n\n\ndef fn(row):\n    x, flag = row[row != 0], row.sum() > 6\n"
    "    ends = (x == 1).nonzero().flatten()\n"
)
PROGRAMS = {
    "assigned": ("    if ends.shape[0] > 0:\n        x = x[: ends[0]]\n    return x * 2\n", "ends.shape[0] > 0"),
    "returned": ("    if ends.numel():\n        return x[: ends[0]]\n    return x\n", "ends.numel()"),
    "tested tensor": ("    if bool(flag):\n        x = x[:2]\n    return x + 1\n", "bool(flag)"),
    "number of its own": (
        "    if ends.numel() > 0:\n        n = ends[0].item()\n        x = x[:n]\n    return x * x\n",
        "ends.numel() > 0",
    ),
    "last element behind a count": (
        "    if x.numel() and x[-1] == 1:\n        x = x[:-1]\n    return x * 2\n",
        "x.numel()",
    ),
    "first element behind a count": (
        "    if len(x) > 0 and x[0] == 1:\n        return x[:1]\n    return x\n",
        "len(x) > 0",
    ),
    "several": (
        "    y = x * 2\n    if ends.size(0) != 0:\n        x = x[: ends[0]]\n        y = y[: ends[0]]\n"
        "    return x + y\n",
        "ends.size(0) != 0",
    ),
    "several at once": (
        "    y = x * 2\n    if ends.size(0) > 0:\n        x, y = x[: ends[0]], y[: ends[0]]\n    return x + y\n",
        "ends.size(0) > 0",
    ),
    "several returned": (
        "    y = x * 2\n    if ends.numel():\n        return x[: ends[0]], y[: ends[0]]\n    return x, y\n",
        "ends.numel()",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize(("body", "test"), PROGRAMS.values(), ids=PROGRAMS)
def test_the_length_is_chosen_while_compiling(body: str, test: str) -> None:
    import torch

    load_moves()
    context = context_of(HEAD + body, test, TYPES)
    texts = [context.site.source.apply(each.edits) for each in in_order(["cut_or_keep"], context)]
    rows = ([3, 4, 1, 5, 0], [3, 4, 2, 0, 0], [0, 0, 0, 0, 0], [1, 1, 0, 1, 1], [2, 0, 0, 0, 3])
    samples = [(torch.tensor(row),) for row in rows]
    assert texts
    assert any(not failures(HEAD + body, text, samples, ("export", "compile")) for text in texts)


@pytest.mark.parametrize(
    ("body", "test"),
    [
        ("    if flag:\n        x = x[1:]\n    return x\n", "flag"),
        ("    if flag:\n        x = y[:2]\n    return x\n", "flag"),
        ("    if flag:\n        x = x[:2]\n    else:\n        x = x + 1\n    return x\n", "flag"),
        ("    if flag:\n        y = y + 1\n        x = x[:2]\n    return x + y\n", "flag"),
        ("    if flag:\n        x = x[:2]\n        y = y[:3]\n    return x, y\n", "flag"),
        ("    if flag:\n        return x[:2]\n    return x * 2\n", "flag"),
        ("    if flag:\n        x = x[:2]\n        print(x)\n    return x\n", "flag"),
    ],
)
def test_what_does_more_than_cut_is_left_alone(body: str, test: str) -> None:
    assert candidates("cut_or_keep", context_of(f"def fn(x, y, flag):\n{body}", test, TYPES)) == []
