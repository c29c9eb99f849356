"""What the text says about a tensor's dtype."""

from __future__ import annotations

import ast

import pytest
from control_flow import COUNT, MASK, SCALAR, context_of

from ddelint.nouns.diagnostics import TypeFact
from ddelint.rewrite.reading.kinds import Kinds

INDEX = TypeFact("tensor", "int64", ())
SIZES = TypeFact("list", length=3, element=TypeFact("int"))
WEIGHTS = TypeFact("list", length=3, element=TypeFact("float"))


def dtype_of(expression: str, before: str = "") -> str:
    head = f"import torch\n\n\nclass M(torch.nn.Module):\n{before}    def fn(self, x, k, m, n, y, sizes, weights):\n"
    types = {"x": SCALAR, "k": INDEX, "m": MASK, "n": COUNT, "sizes": SIZES, "weights": WEIGHTS}
    context = context_of(f"{head}        y = {expression}\n", expression, types)
    assert isinstance(context.site.node, ast.expr)
    return Kinds(context).dtype(context.site.node)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("x.to(torch.long)", "int64"),
        ("x.to('cpu', torch.int32)", "int32"),
        ("k.to(x.device)", "int64"),
        ("k.to(x)", ""),
        ("k.to(dtype=x.dtype)", "float32"),
        ("x.type(torch.int64)", "int64"),
        ("x.sum(dtype=torch.long)", "int64"),
        ("m.sum()", "int64"),
        ("(m & (x > 0)).sum()", "int64"),
        ("x.sum()", "float32"),
        ("x.half().sum()", ""),
        ("torch.tensor([1, -2])", "int64"),
        ("torch.tensor([1, 2.5])", ""),
        ("torch.tensor(True)", "bool"),
        ("torch.tensor(n)", ""),
        ("torch.tensor(sizes)[k]", "int64"),
        ("torch.tensor(weights)", ""),
        ("torch.zeros(3, dtype=torch.long)", "int64"),
        ("torch.zeros(3)", ""),
        ("torch.tensor(-True)", "int64"),
        ("torch.tensor(not True)", "bool"),
        ("torch.dist(x, x.sum())", "float32"),
        ("torch.dist(x, x.double())", ""),
        ("x.dist(y, 2)", ""),
        ("torch.arange(5)", "integer"),
        ("torch.arange(0, 1, 0.1)", ""),
        ("x.topk(3).indices[0]", "integer"),
        ("x.max(dim=0)[1]", "integer"),
        ("x.max(dim=0)[0]", "float32"),
        ("x.sort().indices", "integer"),
        ("k + 1", "int64"),
        ("m + 1", "int64"),
        ("k * 0.5", ""),
        ("k / 2", ""),
        ("k ** 2", ""),
        ("x / 2", "float32"),
        ("x / x.sum()", "float32"),
        ("x ** 2", "float32"),
        ("x / k", ""),
        ("x.half() / x.half()", ""),
        ("torch.atan(x / x.sum())", "float32"),
        ("torch.atan(k)", ""),
        ("torch.atan2(x, x / 2)", "float32"),
        ("torch.atan2(x, x.double())", ""),
        ("x.hypot(k)", ""),
        ("torch.where(m, x, x * 2)", "float32"),
        ("torch.where(m, torch.full((), 0.5, dtype=torch.float64), x.sum().item())", "float64"),
        ("torch.where(m, x, k)", ""),
        ("torch.where(m, 1, 2)", ""),
        ("k.clamp(min=0)", "int64"),
        ("k.clamp(min=0.5)", ""),
        ("k.clamp(max=n)", ""),
        ("torch.max(k, x)", ""),
        ("k.view(1).clone()", "int64"),
        ("x.long().unsqueeze(0)", "integer"),
        ("x.short()", "int16"),
    ],
)
def test_a_dtype_that_the_text_says(expression: str, expected: str) -> None:
    assert dtype_of(expression) == expected


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("self.register_buffer('b', torch.zeros(3, dtype=torch.long))", "int64"),
        ("size = torch.tensor(4)\n        self.register_buffer('b', size)", "int64"),
        ("self.register_buffer('b', torch.ones(3, dtype=torch.float64))", ""),
        ("self.register_buffer('b', torch.tensor(1))\n        self.b = self.b / 2", ""),
        ("self.register_buffer('other', torch.tensor(1))", ""),
    ],
)
def test_a_buffer_has_the_dtype_that_it_is_registered_with(lines: str, expected: str) -> None:
    assert dtype_of("self.b", f"    def __init__(self):\n        {lines}\n\n") == expected
