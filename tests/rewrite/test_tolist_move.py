"""read_one_by_one: lists of what Dynamo lists for integers alone."""

from __future__ import annotations

from dataclasses import replace

import pytest
from control_flow import context_of, failures, rewritten

from ddelint.nouns.diagnostics import TypeFact
from ddelint.rewrite.candidate import Context

TYPES = {
    "active": TypeFact("tensor", "bool", ("6",)),
    "x": TypeFact("tensor", "float32", ("4",)),
    "self.flags": TypeFact("tensor", "bool", ("2", "3")),
    "total": TypeFact("tensor", "float32", ()),
    "deep": TypeFact("tensor", "float32", ("2", "2", "2")),
}


def context(body: str, asking: str, detail: str = "Tensor.tolist() with non-integer tensor") -> Context:
    text = f"import torch\n\n\ndef fn(self, x, active, total, deep, value=0):\n    {body}\n"
    return replace(context_of(text, asking, TYPES, "DDE005"), detail=detail)


@pytest.mark.parametrize(
    ("body", "asking", "said"),
    [
        ("for flag in active.tolist(): print(flag)", "active.tolist()", "in [value_2.item() for value_2 in active]:"),
        ("best = max(x.tolist())", "x.tolist()", "max([value_2.item() for value_2 in x])"),
        ("return any((x > 0).tolist())", "(x > 0).tolist()", "any([value_2.item() for value_2 in x > 0])"),
        (
            "rows = self.flags.tolist()",
            "self.flags.tolist()",
            "rows = [[value_2.item() for value_2 in row] for row in self.flags]",
        ),
        ("scale = total.tolist() * 2", "total.tolist()", "scale = total.item() * 2"),
    ],
)
def test_each_element_is_read_by_itself(body: str, asking: str, said: str) -> None:
    (found,) = rewritten("read_one_by_one", context(body, asking))
    assert said in found


def test_what_stops_for_another_reason_or_has_too_many_dimensions_is_left() -> None:
    assert rewritten("read_one_by_one", context("a = active.tolist()", "active.tolist()", "a graph break")) == []
    assert rewritten("read_one_by_one", context("a = deep.tolist()", "deep.tolist()")) == []
    assert rewritten("read_one_by_one", context("a = fn(x).append(x).tolist()", "fn(x).append(x).tolist()")) == []


def test_it_goes_through_dynamo_and_gives_the_same() -> None:
    import torch

    text = (
        "import torch\n\n\ndef fn(x):\n    total = 0.0\n    for value in x.tolist():\n"
        "        total = total + value * 2\n    return x * total\n"
    )
    site = replace(context_of(text, "x.tolist()", TYPES, "DDE005"), detail="Tensor.tolist() with non-integer tensor")
    (program,) = rewritten("read_one_by_one", site)
    samples = [(torch.randn(4),), (torch.zeros(4),)]
    assert failures(text, program, samples, ("export", "strict", "compile")) == []
