"""What an expression is, by facts, operators and its own form."""

from __future__ import annotations

import ast

import pytest
from control_flow import COUNT, INTEGERS, MASK, TENSOR, context_of

from ddelint.nouns.diagnostics import TypeFact
from ddelint.rewrite.reading.kinds import Kind, Kinds


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("x", Kind.TENSOR),
        ("n", Kind.NUMBER),
        ("flag", Kind.BOOL),
        ("x.shape[0]", Kind.NUMBER),
        ("x.shape", Kind.STATIC),
        ("x.sum() > n", Kind.TENSOR),
        ("n > 4", Kind.BOOL),
        ("x is None", Kind.STATIC),
        ("isinstance(x, int)", Kind.STATIC),
        ("torch.equal(x, x)", Kind.BOOL),
        ("torch.where(x > 0, x, n)", Kind.TENSOR),
        ("mask.sum().item()", Kind.NUMBER),
        ("mask.any().item()", Kind.BOOL),
        ("len(x)", Kind.NUMBER),
        ("elsewhere", Kind.UNKNOWN),
        ("self.training", Kind.STATIC),
    ],
)
def test_kinds(text: str, kind: Kind) -> None:
    facts = {"x": TENSOR, "n": COUNT, "mask": MASK, "t": INTEGERS, "flag": TypeFact("bool")}
    context = context_of(f"def fn(x, n, mask, flag):\n    return [{text}]\n", f"[{text}]", facts)
    assert isinstance(context.site.node, ast.List)
    assert Kinds(context).of(context.site.node.elts[0]) is kind
