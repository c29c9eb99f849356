"""block_diagonal_mask: what it writes, and that it computes the same."""

from __future__ import annotations

import pytest
import torch
from control_flow import context_of, rewritten

from ddelint.nouns.diagnostics import TypeFact

PROGRAM = """import torch
import torch.nn.functional as F


def attend(query, key, value, attention_mask=None, is_causal=False):
    scores = query @ key.transpose(-1, -2)
    if attention_mask is not None:
        scores = scores + attention_mask
    return scores.softmax(-1) @ value, scores


def fn(q, k, v, bounds):
    lengths = bounds[1:] - bounds[:-1]
    parts = [torch.split(t, lengths.tolist(), dim=2) for t in (q, k, v)]
    outs = [
        {call}
        for a, b, c in zip(*parts)
    ]
    out = torch.cat(outs, dim=2)
    return out * 2
"""
OWN = "attend(a, b, c, attention_mask=None, is_causal=False)[0]"
PLAIN = "F.scaled_dot_product_attention(a, b, c)"
TYPES = {"lengths": TypeFact("tensor", "int64", ("u0",))}


def _offered(call: str) -> list[str]:
    text = PROGRAM.replace("{call}", call)
    return rewritten("block_diagonal_mask", context_of(text, "lengths.tolist()", TYPES, "DDE304"))


@pytest.mark.parametrize("call", [OWN, PLAIN])
@pytest.mark.parametrize("lengths", [[3, 1, 4], [8], [0, 5, 3, 0]])
def test_a_mask_says_the_same_as_chunks(call: str, lengths: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    (found,) = _offered(call)
    before: dict[str, object] = {}
    after: dict[str, object] = {}
    exec(PROGRAM.replace("{call}", call), before)
    exec(found, after)
    torch.manual_seed(0)
    q, k, v = torch.randn(3, 1, 2, 8, 4).unbind(0)
    bounds = torch.tensor([0, *torch.tensor(lengths).cumsum(0).tolist()], dtype=torch.int32)
    expected = before["fn"](q, k, v, bounds)  # type: ignore[operator]
    assert torch.equal(after["fn"](q, k, v, bounds), expected)  # type: ignore[operator]
    monkeypatch.setattr(torch.compiler, "is_compiling", lambda: True)
    got = after["fn"](q, k, v, bounds)  # type: ignore[operator]
    torch.testing.assert_close(got, expected)


@pytest.mark.parametrize(
    "call",
    [
        "attend(a, b, c, attention_mask=mask)[0]",
        "attend(a, b, c, attention_mask=None, is_causal=True)[0]",
        "attend(a, b, c)[0]",
    ],
)
def test_a_mask_that_is_there_or_not_taken_stays(call: str) -> None:
    assert _offered(call) == []


def test_rows_that_are_computed_get_a_name() -> None:
    text = PROGRAM.replace("{call}", PLAIN).replace("for t in (q, k, v)", "for t in (q * 2, k, v)")
    (found,) = rewritten("block_diagonal_mask", context_of(text, "lengths.tolist()", TYPES, "DDE304"))
    assert "        rows = q * 2\n        # a row attends to the rows of its own chunk alone\n" in found
    assert "        out = F.scaled_dot_product_attention(rows, k, v, attn_mask=block_mask)\n    else:\n" in found
