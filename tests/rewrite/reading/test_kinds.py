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


@pytest.mark.parametrize(
    ("text", "stores", "kind"),
    [
        ("self.shape", "", Kind.TENSOR),
        ("self.sharp", "self.sharp = sharp", Kind.STATIC),
        ("self.sharp", "self.sharp, self.width = sharp, 3", Kind.STATIC),
        ("config.sharp", "self.sharp = sharp", Kind.STATIC),
        ("made.sharp", "self.sharp = sharp", Kind.BOOL),
        ("self.wide", "self.wide = sharp", Kind.BOOL),
        ("self.first", "self.first = sharp", Kind.BOOL),
        ("self.training", "", Kind.STATIC),
    ],
)
def test_what_is_known_is_no_question_but_for_what_the_data_gives(text: str, stores: str, kind: Kind) -> None:
    """A gamma distribution has its `shape`, which is a tensor."""
    names = ("self.sharp", "self.wide", "self.first", "self.training", "config.sharp", "made.sharp")
    facts = {"self.shape": TENSOR, **dict.fromkeys(names, TypeFact("bool"))}
    model = (
        f"class Model:\n    def __init__(self, sharp):\n        {stores or 'pass'}\n\n"
        "    def forward(self, x, config):\n        made = Found(bool(x.any()))\n"
        "        self.wide, found = bool(x.any()), 3\n        for self.first in x > 0:\n            pass\n"
        f"        return [{text}]\n"
    )
    context = context_of(model, f"[{text}]", facts)
    assert isinstance(context.site.node, ast.List)
    assert Kinds(context).of(context.site.node.elts[0]) is kind
