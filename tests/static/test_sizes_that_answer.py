"""The least sizes in rules/operators.toml that answer what operators ask of sizes, against torch's own export."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.nn import functional

from ddelint.knowledge.operators import operators

NONE = 0
CALLS: dict[str, list[Callable[[torch.Tensor, Any], object]]] = {
    "batch_norm": [
        lambda x, n: functional.batch_norm(x.new_zeros(n, 3), None, None, training=True),
        lambda x, n: functional.batch_norm(x.new_zeros(n, 3, n), None, None, training=True),
    ],
    "bilinear": [lambda x, n: functional.bilinear(x.new_zeros(n, 3), x.new_zeros(n, 3), x.new_zeros(5, 3, 3))],
    "cdist": [
        lambda x, n: torch.cdist(x.new_zeros(n, 3), x),
        lambda x, n: torch.cdist(x.new_zeros(n, 3), x.new_zeros(n, 3)),
    ],
    "chain_matmul": [lambda x, n: torch.chain_matmul(x.new_zeros(n, 3), x.new_zeros(3, 4), x.new_zeros(4, 5))],
    "channel_shuffle": [lambda x, n: torch.channel_shuffle(x.new_zeros(n, 4, 2, 2), 2)],
    "cholesky": [lambda x, n: torch.cholesky(x.new_zeros(n, n))],
    "cummax": [lambda x, n: x.new_zeros(n, 3).cummax(0), lambda x, n: x.new_zeros(3, n).cummax(1)],
    "cummin": [lambda x, n: x.new_zeros(n, 3).cummin(0)],
    "inner": [
        lambda x, n: torch.inner(x.new_zeros(n, 3), x),
        lambda x, n: torch.inner(x.new_zeros(4, n), x.new_zeros(5, n)),
    ],
    "logsumexp": [lambda x, n: x.new_zeros(n, 3).logsumexp(0), lambda x, n: x.new_zeros(n, 3).logsumexp(1)],
    "roll": [lambda x, n: x.new_zeros(n, 3).roll(1)],
    "take": [lambda x, n: x.new_zeros(n, 3).take(torch.tensor([0]))],
    "take_along_dim": [
        lambda x, n: torch.take_along_dim(x.new_zeros(n, 3), torch.zeros(1, 3, dtype=torch.long), 0),
    ],
    "tensordot": [
        lambda x, n: torch.tensordot(x.new_zeros(n, 3), x.t(), 1),
        lambda x, n: torch.tensordot(x.new_zeros(4, n), x.new_zeros(n, 5), 1),
    ],
}


class _Cut(torch.nn.Module):
    def __init__(self, call: Callable[[torch.Tensor, Any], object], least: int) -> None:
        super().__init__()
        self._call = call
        self._least = least

    def forward(self, x: torch.Tensor, count: torch.Tensor) -> object:
        n = count.item()
        torch._check(n >= self._least)
        return self._call(x, n)


def _is_asked(call: Callable[[torch.Tensor, Any], object], least: int) -> bool:
    given = (torch.rand(8, 3), torch.tensor(max(least, 30)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            torch.export.export(_Cut(call, least), given, strict=False)
        except torch.fx.experimental.symbolic_shapes.GuardOnDataDependentSymNode:
            return True
    return False


def test_there_is_a_call_of_each() -> None:
    assert CALLS.keys() == operators().asks_of_sizes.keys()


@pytest.mark.skipif(not torch.__version__.startswith("2.13."), reason="the table is of torch 2.13")
@pytest.mark.parametrize("name", CALLS)
def test_the_least_size_answers_and_no_smaller_one(name: str) -> None:
    least = operators().asks_of_sizes[name]
    if least == NONE:
        assert all(_is_asked(call, 1_000) for call in CALLS[name])
    else:
        assert not any(_is_asked(call, least) for call in CALLS[name])
        assert any(_is_asked(call, least - 1) for call in CALLS[name])
