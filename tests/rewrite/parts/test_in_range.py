"""Rows by a number that a test keeps in range, said so that they are there for each."""

from __future__ import annotations

import ast
from typing import Any

import pytest
import torch
from control_flow import TENSOR, context_of, failures

from ddelint.nouns.diagnostics import TypeFact
from ddelint.rewrite.moves import load_moves
from ddelint.rewrite.parts.respelling import respelled
from ddelint.rewrite.search.offering import in_order

PLACE = "torch.full((1,), {}, dtype=torch.int64, device=x.device).remainder(x.shape[0])"
ROW = f"x.index_select(0, {PLACE})"
TYPES = {"x": TENSOR, "y": TENSOR, "n": TypeFact("int"), "k": TypeFact("symint"), "last": TypeFact("int")}


def said(body: str, asking: str) -> list[tuple[str, bool]]:
    text = "import torch\n\n\ndef fn(x, y, n, k, last):\n" + "".join(f"    {line}\n" for line in body.splitlines())
    before = ast.unparse(ast.parse(text)).splitlines()
    return [
        (line.strip(), each.likelier)
        for each in respelled(context_of(text, asking, TYPES))
        for line in ast.unparse(each.context.site.source.tree).splitlines()
        if line not in before
    ]


@pytest.mark.parametrize(
    ("body", "asking", "expected"),
    [
        ("if k == last:\n    return y[0]\nreturn x[k] * 2", "k == last", (f"return {ROW.format('k')}[0] * 2", True)),
        (
            "if k > 0:\n    y = y + x[k - 1, 2:]\nreturn y",
            "k > 0",
            (f"y = y + {ROW.format('k - 1')}[0, 2:]", False),
        ),
        (
            "z = x[k] if k < x.shape[0] else y[0]\nreturn z",
            "k < x.shape[0]",
            (f"z = {ROW.format('k')}[0] if k < x.shape[0] else y[0]", True),
        ),
        (
            "if k < len(x):\n    x = x.clone()\n    x[k, 1:] = 2\nreturn x",
            "k < len(x)",
            (f"x[{PLACE.format('k')}, 1:] = 2", True),
        ),
        (
            "if k != last:\n    y = y + 1\nelse:\n    y = x[k].clamp(min=0)\nreturn y",
            "k != last",
            (f"y = {ROW.format('k')}[0].clamp(min=0)", True),
        ),
    ],
)
def test_some_row_is_read_where_there_is_none(body: str, asking: str, expected: tuple[str, bool]) -> None:
    assert said(body, asking) == [expected]


@pytest.mark.parametrize(
    ("test", "is_first"),
    [
        ("x[k].sum() == y[k].sum()", False),
        ("x[k].sum() == last and y[k].sum() < last", False),
        ("y[k].sum() == last", True),
        ("k < last and x[k].sum() == y.sum()", True),
        ("x[k].sum() == y[k + 1].sum() and n < k", True),
    ],
)
def test_where_the_test_reads_the_same_rows_they_are_there(test: str, is_first: bool) -> None:
    text = f"import torch\n\n\ndef fn(x, y, n, k, last):\n    if {test}:\n        y = y + x[k]\n    return y\n"
    found = [one for one in respelled(context_of(text, test, TYPES)) if "index_select" in one.context.site.source.text]
    assert [one.likelier for one in found if ast.unparse(one.context.site.node) == test] == [is_first]


@pytest.mark.parametrize(
    ("body", "asking"),
    [
        ("if k == last:\n    return y[0]\nreturn x[n]", "k == last"),
        ("if k == last:\n    return y[0]\nreturn x[:k]", "k == last"),
        ("if k == last:\n    return y[0]\nx[k] = 0\nreturn x", "k == last"),
        ("if k == last:\n    raise ValueError\nreturn x[k]", "k == last"),
    ],
)
def test_what_the_test_does_not_keep_in_range_stays(body: str, asking: str) -> None:
    assert said(body, asking) == []


def test_both_sides_are_computed_for_each_number() -> None:
    text = "import torch\n\n\ndef fn(x, y, k, last):\n    if k == last:\n        return y[k]\n    return y[k] - x[k]\n"
    load_moves()
    context = context_of(text, "k == last", TYPES)
    found = next(one for one in in_order(["where_merge"], context) if one.move == "where_merge")
    changed = context.site.source.apply(found.edits)
    original, rewritten = (_function(source) for source in (text, changed))
    x, y = torch.randn(3, 2), torch.randn(4, 2)
    for k in range(-3, 4):
        assert torch.equal(original(x, y, k, 3), rewritten(x, y, k, 3))


FEW = {
    "two tables": "order = rank.argsort()\nif k < n:\n    y = rank[order[k]]\nelse:\n    y = rank.sum() + 2\nreturn y",
    "from the end": "order = rank.argsort() - n\ny = rank.sum()\nif k < n:\n    y = rank[order[k]]\nreturn y",
    "one table": "y = rank[k] if k < n else rank.sum() - 1\nreturn y",
    "one less": "y = rank.sum()\nif n > k:\n    y = y + rank[n - 1]\nreturn y",
    "rows": "rows = rank[:, None] * torch.ones(2)\nif k >= n:\n    return rows.sum(0)\nreturn rows[k]",
}


@pytest.mark.parametrize("body", FEW.values(), ids=FEW)
def test_a_table_that_may_have_no_row_gets_one(body: str) -> None:
    text = "import torch\n\n\ndef fn(rank, n, k):\n" + "".join(f"    {line}\n" for line in body.splitlines())
    few = TypeFact("tensor", "float32", ("u0",), requires_grad=True)
    types = {
        "rank": few,
        "order": TypeFact("tensor", "int64", ("u0",)),
        "n": TypeFact("symint"),
        "k": TypeFact("symint"),
    }
    types["rows"] = TypeFact("tensor", "float32", ("u0", "2"), requires_grad=True)
    asking = next(test for test in ("k < n", "n > k", "k >= n") if test in body)
    load_moves()
    context = context_of(text, asking, types)
    found = [context.site.source.apply(one.edits) for one in in_order(["where_merge"], context)]

    def outcome(source: str, count: int, k: int) -> list[torch.Tensor]:
        rank = torch.arange(1.0, count + 1).requires_grad_()
        value = _function(source)(rank, count, k)
        return [value, *torch.autograd.grad(value.sum(), [rank], materialize_grads=True)]

    def agrees(source: str) -> bool:
        try:
            pairs = [zip(outcome(text, n, k), outcome(source, n, k)) for n in (0, 1, 2, 5) for k in (0, 1, 3)]
        except (IndexError, RuntimeError):
            return False
        return all(torch.equal(one, other) for pair in pairs for one, other in pair)

    merged = [one for one in found if "is_compiling" not in one]
    assert any(map(agrees, merged))
    assert not any(agrees(one) for one in merged if "torch.cat" not in one)


@pytest.mark.slow
@pytest.mark.parametrize(
    "body",
    [
        "    if n < x.shape[0]:\n        x = x.clone()\n        x[n] = y\n    return x, n\n",
        "    out = torch.zeros(4, 2)\n    if n < 4 and y[0] > 0:\n        out[n] += y\n    return out\n",
        "    if n >= len(x):\n        z = x * 2\n    else:\n        z = x * 2\n        z[n, 0] = y[1]\n    return z\n",
        "    seen = torch.zeros(4)\n    if n >= 0:\n        seen[n] = 1.0\n    return x + seen[:, None]\n",
    ],
)
def test_a_row_that_a_test_keeps_in_range_is_written(body: str) -> None:
    text = f"import torch\n\n\ndef fn(x, y, rows):\n    n = rows.sum().item() - 1\n{body}"
    load_moves()
    asking = next(line for line in body.splitlines() if " if " in line).strip().removeprefix("if ").removesuffix(":")
    types = TYPES | dict.fromkeys(("out", "seen", "z"), TENSOR) | {"y": TypeFact("tensor", "float32", ("2",))}
    types["n"] = TypeFact("symint")
    context = context_of(text, asking, types | {"rows": TypeFact("tensor", "int64", ("3",))})
    samples = [
        (torch.randn(4, 2), torch.randn(2), torch.tensor(rows))
        for rows in ([0, 1, 1], [0, 1, 0], [0, 0, 0], [3, 1, 0], [1, 1, 2], [3, 3, 1])
        if sum(rows) < 5 or "n >= 0" not in body
    ]
    texts = [context.site.source.apply(each.edits) for each in in_order(["where_merge", "masked_state"], context)]
    assert any(not failures(text, new, samples, ("export", "compile")) for new in texts)


def _function(text: str) -> Any:
    scope: dict[str, Any] = {}
    exec(text, scope)
    return scope["fn"]
