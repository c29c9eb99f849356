"""padding_stays: what is written, what is left alone, and the texts run by torch."""

from __future__ import annotations

from dataclasses import replace

import pytest
from control_flow import candidates, context_of, failures, rewritten

from ddelint.nouns.diagnostics import Span, Symbol, TypeFact

MOVE = "padding_stays"
TYPES = {"x": TypeFact("tensor", "float32", ("2", "4")), "mask": TypeFact("tensor", "bool", ("2", "4"))}
HEAD = "import torch\n\n\n"
POOLED = """def fn(x, mask):
    longest = int(mask.sum(1).max())
    x, mask = x[:, :longest], mask[:, :longest]
    return (x * mask).sum(1) / mask.sum(1)
"""
TRIMMED = """def trim(x, mask):
    lengths = mask.sum(dim=1)
    n = lengths.amax().item()
    return x[..., :n], mask[:, :n]


def fn(x, mask):
    x, mask = trim(x, mask)
    for t in range(x.shape[1]):
        mask = mask & (mask[:, t] | (x < 9).any(1))[:, None]
    return (x * mask).amax(1)
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (POOLED, "longest = x.shape[1] if torch.compiler.is_compiling() else int(mask.sum(1).max())"),
        (POOLED.replace("x[:, :longest], mask", "x[:, : longest], mask"), "longest = x.shape[1] if "),
    ],
)
def test_padding_is_left_on(text: str, expected: str) -> None:
    import torch

    (found,) = rewritten(MOVE, context_of(HEAD + text, "int(mask.sum(1).max())", TYPES, "DDE201"))
    assert expected in found
    samples = [
        (torch.arange(8.0).reshape(2, 4), torch.arange(4) < torch.tensor(lengths)[:, None])
        for lengths in ([2, 3], [4, 1], [1, 1])
    ]
    assert failures(HEAD + text, found, samples, ("export", "compile")) == []


CUT = """def fn(x, mask):
    longest = int(mask.sum(1).max())
    x, mask = x[:, :longest], mask[:, :longest]
    for t in range(1, x.shape[1]):
        x = x + (x[:, t] * mask[:, t])[:, None]
    y = x * mask
    if longest < 0:
        return y, y
    return y * 2, y.sum(1)
"""
TRIMMED_BY_HELPER = """def trim(values, lengths):
    counts = lengths.clamp(min=1)
    n = torch.max(counts).item()
    return values[:, :n], counts


def fn(x, mask):
    y, counts = trim(x * mask, mask.sum(dim=1))
    return {"y": y.cumsum(1), "counts": counts}
"""
IN_A_METHOD = """class Model(torch.nn.Module):
    def trim(self, x, mask):
        n = int(mask.sum(1).max())
        return x[:, :n], mask[:, :n]

    def forward(self, x, mask):
        x, mask = self.trim(x, mask)
        return x * mask + mask.any(1, keepdim=True)


fn = Model()
"""


@pytest.mark.parametrize(
    ("text", "asking", "expected"),
    [
        (CUT, "int(mask.sum(1).max())", "return (y * 2)[:, :longest_2], y.sum(1)"),
        (
            CUT.replace("longest < 0", "not x.dim()"),
            "int(mask.sum(1).max())",
            "return y[:, :longest_2], y[:, :longest_2]",
        ),
        (TRIMMED_BY_HELPER, "torch.max(counts).item()", "longest = torch.max(mask.sum(dim=1).clamp(min=1)).item()"),
        (IN_A_METHOD, "int(mask.sum(1).max())", "longest = mask.sum(1).max().item()"),
    ],
)
def test_what_is_returned_is_cut_where_it_is_as_long_as_the_longest(text: str, asking: str, expected: str) -> None:
    import torch

    cut = TypeFact("tensor", "float32", ("2", "?"))
    facts = {**TYPES, "y": cut, "y * 2": cut, "y.cumsum(1)": cut, "x * mask + mask.any(1, keepdim=True)": cut}
    context = replace(context_of(HEAD + text, asking, facts, "DDE201"), types_in=lambda function: facts)
    found = rewritten(MOVE, context)[-1]
    assert expected in found
    samples = [
        (torch.arange(8.0).reshape(2, 4), torch.arange(4) < torch.tensor(lengths)[:, None])
        for lengths in ([2, 3], [4, 1], [1, 1])
    ]
    if text is not IN_A_METHOD:
        samples.append((torch.zeros(2, 4), torch.zeros(2, 4, dtype=torch.bool)))
    if "longest < 0" not in text:
        assert failures(HEAD + text, found, samples, ("export", "compile")) == []


def test_a_length_is_found_where_it_was_made() -> None:
    text = HEAD + TRIMMED
    context = context_of(text, "range(x.shape[1])", TYPES, "DDE203")
    row = text[: text.index("x[..., :n]")].count("\n") + 1
    created = Span("model.py", row, 12, row, 22)
    symbol = Symbol("x.shape[1]", "x[..., :n]", created)
    context = replace(context, diagnostic=replace(context.diagnostic, symbols=(symbol,)))
    (found,) = rewritten(MOVE, context)
    assert "n = mask.shape[1] if torch.compiler.is_compiling() else lengths.amax().item()" in found


@pytest.mark.parametrize(
    "text",
    [
        POOLED.replace("max()", "min()"),
        POOLED.replace(":longest]", "longest:]"),
        POOLED.replace(":longest]", "longest - 1]"),
        POOLED.replace("    x, mask = x[:, :longest], mask[:, :longest]\n", "    x = torch.zeros(longest)\n"),
    ],
)
def test_other_numbers_are_left_alone(text: str) -> None:
    asking = "int(mask.sum(1).max())" if "max()" in text else "int(mask.sum(1).min())"
    assert candidates(MOVE, context_of(HEAD + text, asking, TYPES, "DDE201")) == []
