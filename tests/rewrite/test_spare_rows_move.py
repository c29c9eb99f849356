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
    "single": TypeFact("tensor", "float32", ("1", "2")),
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
    ("before", "after"),
    [
        ('torch.einsum("bi,oi->bo", x, fixed)', f'torch.einsum("bi,oi->bo", {PAD}(x, (0, 0, 0, 2)), fixed)[:-2]'),
        (
            'torch.einsum("oi, bi -> ob", fixed, x)',
            f'torch.einsum("oi, bi -> ob", fixed, {PAD}(x, (0, 0, 0, 2)))[:, :-2]',
        ),
        (
            'torch.einsum("b,bo->o", flat, x)',
            f'torch.einsum(\n        "b,bo->o",\n        {PAD}(flat, (0, 2)),\n        {PAD}(x, (0, 0, 0, 2)),\n    )',
        ),
        ('torch.einsum("abi->ba", y)', f'torch.einsum("abi->ba", {PAD}(y, (0, 0, 0, 2)))[:-2]'),
    ],
)
def test_rows_of_zeros_change_no_sum_of_products(before: str, after: str) -> None:
    text = f"import torch\n\n\ndef fn(x, y, flat, fixed):\n    return {before} * 3\n"
    assert rewritten("spare_rows", context_of(text, before, TYPES)) == [text.replace(before, after)]
    samples = [
        (torch.randn(n, 2), torch.randn(3, n, 2), torch.randn(n), torch.tensor([[1.0, float("inf")]] * 4))
        for n in (3, 1, 0)
    ]
    assert failures(text, text.replace(before, after), samples, ()) == []


@pytest.mark.parametrize(
    "call",
    [
        'torch.einsum("bi,oi->o", x, fixed)',  # zeros times an infinity
        'torch.einsum("bi,bo->io", x, single)',  # one row, which is spread
        'torch.einsum("...i,oi->...o", x, fixed)',
        'torch.einsum("bi,oi", x, fixed)',
        'torch.einsum("bi,oi->bo", x, unknown)',
        'torch.einsum("bb->b", x)',
        'torch.einsum("oi,pi->op", fixed, fixed)',
        "torch.einsum(equation, x, fixed)",
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
    text = f"def fn(x, fixed, single, unknown, equation, dim, keep, options):\n    return {call}\n"
    assert candidates("spare_rows", context_of(text, call, TYPES)) == []
