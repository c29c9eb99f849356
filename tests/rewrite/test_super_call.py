"""base_function: what `super()` finds in an autograd function, called by a name of its own."""

from __future__ import annotations

from dataclasses import replace

import pytest
from control_flow import candidates, context_of, load

from ddelint.nouns.diagnostics import Claim
from ddelint.rewrite.candidate import Context

LOSSES = """
import torch


class Loss(torch.autograd.Function):
    @classmethod
    def forward(cls, ctx, x, power):
        return cls.scaled(x) ** power

    @classmethod
    def scaled(cls, x):
        return x * 2


class Squared(Loss):
    @classmethod
    def forward(cls, ctx, x):
        return super().forward(ctx, x, power=2)


def fn(x):
    return Squared.apply(x)
"""
CALL = "super().forward(ctx, x, power=2)"


def context(text: str) -> Context:
    return replace(context_of(text, CALL, code="DDE005"), detail="AutogradFunctionVariable() is not a constant")


def test_the_function_of_the_base_is_called_by_a_name() -> None:
    found = context(LOSSES)
    (candidate,) = candidates("base_function", found)
    text = found.site.source.apply(candidate.edits)
    assert candidate.claim is Claim.EQUIVALENT
    assert "\n\nLoss_forward = Loss.forward.__func__\n\n\nclass Squared(Loss):\n" in text.replace("_Loss_", "Loss_")
    assert "return _Loss_forward(cls, ctx, x, power=2)\n" in text


def test_a_name_that_is_there_is_used_again() -> None:
    found = context(LOSSES.replace("class Squared", "above = Loss.forward.__func__\n\n\nclass Squared"))
    (candidate,) = candidates("base_function", found)
    assert [edit.content for edit in candidate.edits] == ["above(cls, ctx, x, power=2)"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("class Squared(Loss)", "class Squared(Loss, Mixin)"),
        ("    @classmethod\n    def forward(cls, ctx, x):", "    def forward(cls, ctx, x):"),
    ],
)
def test_where_it_is_not_plain_what_super_finds_it_stays(old: str, new: str) -> None:
    assert candidates("base_function", context(LOSSES.replace(old, new))) == []


def test_other_failures_are_left_alone() -> None:
    assert candidates("base_function", replace(context(LOSSES), detail="another error")) == []


def test_dynamo_takes_the_result_and_not_the_original() -> None:
    import torch

    found = context(LOSSES)
    (candidate,) = candidates("base_function", found)
    x = torch.arange(3.0)
    with pytest.raises(Exception, match="AutogradFunctionVariable"):
        torch.compile(load(LOSSES), fullgraph=True, backend="eager")(x)
    torch.compiler.reset()
    rewritten = load(found.site.source.apply(candidate.edits))
    assert torch.compile(rewritten, fullgraph=True, backend="eager")(x).tolist() == [0.0, 4.0, 16.0]
