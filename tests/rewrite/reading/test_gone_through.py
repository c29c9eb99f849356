"""Which names a loop gives tensors, and whose tensors it changes."""

from __future__ import annotations

import ast

import pytest
from control_flow import TENSOR, context_of

from ddelint.nouns.diagnostics import TypeFact
from ddelint.rewrite.reading.gone_through import modules_changed, tensors_given
from ddelint.rewrite.reading.kinds import Kinds

FACTS = {"x": TENSOR, "y": TENSOR, "rows": TypeFact("list", element=TENSOR), "names": TypeFact("list")}


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        ("p in net.parameters()", {"p"}),
        ("p in list(net.buffers())", {"p"}),
        ("name, p in net.named_buffers()", {"p"}),
        ("name, p in net.state_dict().items()", {"p"}),
        ("p in net.state_dict().values()", {"p"}),
        ("p, q in zip(net.parameters(), other.parameters())", {"p", "q"}),
        ("i, (p, name) in enumerate(zip(net.parameters(), names))", {"p"}),
        ("each in (x, y)", {"each"}),
        ("a, b in [(x, 1), (y, 2)]", {"a"}),
        ("row in x", {"row"}),
        ("row in rows", {"row"}),
        ("name in names", set()),
        ("a, b in table.items()", set()),
        ("a, b in [(x, 1), pair]", set()),
        ("i in range(4)", set()),
    ],
)
def test_names_that_are_tensors(head: str, expected: set[str]) -> None:
    text = f"import torch\n\n\ndef fn(x, y):\n    for {head}:\n        x + 1\n"
    context = context_of(text, "x + 1", FACTS)
    (loop,) = (node for node in ast.walk(context.site.source.tree) if isinstance(node, ast.For))
    assert tensors_given(Kinds(context), loop.target, loop.iter) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("for p in self.net.parameters():\n    p.mul_(2)\n", {"p": "self.net.parameters()"}),
        ("for p in net.parameters():\n    p.data.mul_(2)\n", {"p": "net.parameters()"}),
        ("for _, p in net.named_parameters():\n    p[0] = 1\n", {"p": "net.parameters()"}),
        ("for k, v in net.state_dict().items():\n    v.copy_(new[k])\n", {"v": "net.state_dict().values()"}),
        ("for p, q in zip(a.buffers(), b.buffers()):\n    q += p\n", {"q": "b.buffers()"}),
        ("if c:\n    net.load_state_dict(new)\n", {"net.state_dict().values()": "net.state_dict().values()"}),
        ("for p in net.parameters():\n    total = total + p.sum()\n", {}),
        ("for row in rows:\n    row.mul_(2)\n", {}),
    ],
)
def test_modules_whose_tensors_are_changed(text: str, expected: dict[str, str]) -> None:
    assert modules_changed(ast.parse(text).body) == expected
