"""spare_rows: where the rows go, what is cut off again, and that torch computes the same."""

from __future__ import annotations

import pytest
import torch
from control_flow import candidates, context_of, failures, rewritten

from ddelint.nouns.diagnostics import Claim, TypeFact

TYPES = {
    "x": TypeFact("tensor", "float32", ("u0", "2")),
    "y": TypeFact("tensor", "float32", ("3", "u0", "2")),
    "flat": TypeFact("tensor", "float32", ("u0",)),
    "fixed": TypeFact("tensor", "float32", ("4", "2")),
}
PAD = "torch.nn.functional.pad"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x.cumsum(0)", f"{PAD}(x, (0, 0, 0, 2)).cumsum(0)[:-2]"),
        ("torch.cumsum(x, dim=0)", f"torch.cumsum({PAD}(x, (0, 0, 0, 2)), dim=0)[:-2]"),
        ("(x + x * 2).cumsum(-2)", f"{PAD}(x + x * 2, (0, 0, 0, 2)).cumsum(-2)[:-2]"),
        ("y.cumsum(2)", f"{PAD}(y, (0, 0, 0, 2)).cumsum(2)[:, :-2]"),
        ("flat.logcumsumexp(0)", f'{PAD}(flat, (0, 2), value=float("-inf")).logcumsumexp(0)[:-2]'),
        ("x.prod(0)", f"{PAD}(x, (0, 0, 0, 2), value=1).prod(0)"),
        ("x.prod()", f"{PAD}(x, (0, 0, 0, 2), value=1).prod()"),
        ("x.prod(1)", f"{PAD}(x, (0, 0, 0, 2), value=1).prod(1)[:-2]"),
        ("y.prod(0)", f"{PAD}(y, (0, 0, 0, 2), value=1).prod(0)[:-2]"),
        ("y.prod(0, keepdim=True)", f"{PAD}(y, (0, 0, 0, 2), value=1).prod(0, keepdim=True)[:, :-2]"),
        ("y.logsumexp(2, True)", f'{PAD}(y, (0, 0, 0, 2), value=float("-inf")).logsumexp(2, True)[:, :-2]'),
    ],
)
def test_rows_behind_the_own_ones_change_no_result(before: str, after: str) -> None:
    text = f"import torch\n\n\ndef fn(x, y, flat):\n    return {before} * 3\n"
    context = context_of(text, before, TYPES)
    assert rewritten("spare_rows", context) == [text.replace(before, after)]
    assert [one.claim for one in candidates("spare_rows", context)] == [Claim.RESTRUCTURED]
    samples = [(torch.randn(n, 2), torch.randn(3, n, 2), torch.randn(n)) for n in (3, 1, 0)]
    assert failures(text, text.replace(before, after), samples, ()) == []


@pytest.mark.parametrize(
    "call",
    [
        "fixed.cumsum(0)",
        "x.cumsum(dim)",
        "x.cumsum(2)",
        "x.sum(0)",
        "x.prod(0, keepdim=keep)",
        "unknown.cumsum(0)",
        "torch.cumsum(*x)",
        "x.cumsum(**options)",
    ],
)
def test_what_is_of_a_known_size_or_not_written_out_stays(call: str) -> None:
    text = f"def fn(x, fixed, unknown, dim, keep, options):\n    return {call}\n"
    assert candidates("spare_rows", context_of(text, call, TYPES)) == []
