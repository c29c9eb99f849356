"""store_at_all_places: what is written, what is left alone, and the texts run by torch."""

from __future__ import annotations

import pytest
from control_flow import candidates, context_of, failures, with_imports

from ddelint.nouns.diagnostics import TypeFact

TYPES = {
    "x": TypeFact("tensor", "float32", ("5",)),
    "table": TypeFact("tensor", "float32", ("2", "5")),
    "ids": TypeFact("tensor", "int64", ("3",)),
    "found": TypeFact("tensor", "int64", ("u0",)),
    "theta": TypeFact("float"),
}
MOVE = "store_at_all_places"
LOOPS = [
    ("for i in torch.unique(ids):", "        x[i] = theta\n"),
    ("for i in ids.unique().tolist():", "        x[i] = x[i] / theta if x[i] > 0 else x[i] * theta\n"),
    (
        "for i in ids.unique().tolist():",
        "        value = table[1, i]\n        table[1, i] = value / theta if value > 0 else value * theta\n",
    ),
    ("for i in set(ids.tolist()):", "        table[:, i] *= 0.5\n"),
    ("for i in ids.tolist():", "        x[i] = 0.0\n"),
    ("for i in ids.tolist():", "        x[i] = float('-inf')\n"),
    ("for i in found:", "        x[int(i)] = -x[int(i)]\n"),
    ("for i in sorted(set(ids.tolist())):", "        if x[i] > 0:\n            x[i] = theta\n"),
    (
        "for i in torch.unique(ids):",
        "        if table[0, i] > 0:\n            x[i] = 1\n        else:\n            x[i] = 0\n",
    ),
    (
        "for i in torch.unique(ids):",
        "        if table[0, i] < x[i]:\n            x[i] = table[0, i]\n"
        "        else:\n            x[i] = 2 * x[i] + i\n",
    ),
]


def text_of(loop: str, body: str) -> str:
    return (
        "import torch\n\n\ndef fn(x, table, ids, theta):\n    x, table = x + 0, table + 0\n"
        "    found = (x > 1).nonzero().squeeze(1)\n"
        f"    {loop}\n{body}    return x, table, found.sum()\n"
    )


@pytest.mark.parametrize(("loop", "body"), LOOPS)
def test_the_texts_agree_with_the_loop(loop: str, body: str) -> None:
    import torch

    text, iterated = text_of(loop, body), loop.removeprefix("for i in ").removesuffix(":")
    context = context_of(text, f"{iterated}:", TYPES, "DDE203")
    program, *_ = with_imports(MOVE, context)
    assert "for " not in program
    samples = [
        (torch.tensor(row), torch.tensor([row, row[::-1]]), torch.tensor(ids), 1.5)
        for row in ([1.0, -2, 3, -4, 5], [-1.0, 2, -3, 0, -5])
        for ids in ([0, 3, 3], [4, 1, 2])
    ]
    assert failures(text, program, samples, ("export",)) == []


@pytest.mark.parametrize(
    "body",
    [
        "        x[i] = x[i] / theta\n",
        "        if x[i] > 0:\n            x[i] = theta\n",
        "        x[i] = x[i] * 1.5 if x[i] > 0 else -x[i]\n",
        "        value = table[0, i]\n        x[i] = value + 1\n",
        "        x[i] = table.float().mean()\n",
        "        x[i] = theta\n",
        "        x[i] = -x[i] if x[i] > 1 else 0\n",
        "        x[i] = i\n",
    ],
)
@pytest.mark.parametrize("dtype", ["int64", "float16"])
def test_what_is_stored_is_converted_as_by_a_store_at_one_place(body: str, dtype: str) -> None:
    import torch

    text = text_of("for i in ids.unique():", body)
    program, *_ = with_imports(MOVE, context_of(text, "ids.unique():", TYPES, "DDE203"))
    x = torch.tensor([3, 0, -5, 2, 1], dtype=getattr(torch, dtype))
    samples = [(x, torch.randn(2, 5), torch.tensor(ids), 1.5) for ids in ([0, 2, 2], [4, 1, 3])]
    assert failures(text, program, samples, targets=()) == []


@pytest.mark.parametrize(("body", "twice"), [("        x[i] *= 2\n", True), ("        x[i] = theta\n", False)])
def test_a_place_that_has_two_names_is_changed_twice_where_that_matters(body: str, twice: bool) -> None:
    import torch

    text = text_of("for i in ids.unique():", body)
    *_, program = with_imports(MOVE, context_of(text, "ids.unique():", TYPES, "DDE203"))
    assert ("for part in (places[places < 0], places[places >= 0]):\n" in program) is twice
    samples = [
        (torch.randn(5), torch.randn(2, 5), torch.tensor(ids), 1.5) for ids in ([0, 3, 3], [4, 1, -1], [0, 0, 0])
    ]
    assert failures(text, program, samples, ("export",)) == []


@pytest.mark.parametrize(
    ("loop", "body"),
    [
        ("for i in ids.tolist():", "        x[i] += 1\n"),
        ("for i in ids.tolist():", "        x[i] = x[i] * 2\n"),
        ("for i in ids.unique():", "        x[i] = x.sum()\n"),
        ("for i in ids.unique():", "        x[i + 1] = 1.0\n"),
        ("for i in ids.unique():", "        x[i] = x[0]\n"),
        ("for i in ids.unique():", "        x[i] = table[0]\n"),
        ("for i in ids.unique():", "        x[i] = torch.rand(())\n"),
        ("for i in ids.unique():", "        print(i)\n        x[i] = 1.0\n"),
        ("for i in ids.unique():", "        x[i] = 1.0\n        last = x[i]\n"),
        ("for i in range(4):", "        x[i] = 1.0\n"),
    ],
)
def test_what_is_no_store_of_its_own_at_each_place_is_left_alone(loop: str, body: str) -> None:
    text, iterated = text_of(loop, body), loop.removeprefix("for i in ").removesuffix(":")
    text = text.replace("return x,", "return last, x,") if "last" in text else text
    assert candidates(MOVE, context_of(text, f"{iterated}:", TYPES, "DDE203")) == []
