"""Dims of torch.export: `RIGHT…` say what the program needs, `WRONG_<rule>_…` differ in one way each."""

from typing import Any

import torch
from torch.export import Dim


class Model(torch.nn.Module):
    """Pools the rows of few sequences, in groups of four."""

    def forward(self, tokens: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        if tokens.shape[0] > 64:
            raise ValueError("too many")
        return (tokens * mask).unflatten(1, (-1, 4)).sum(1)


def make_inputs(seed: int) -> tuple[Any, ...]:
    torch.manual_seed(seed)
    return torch.rand(3, 16), torch.rand(3, 16)


batch, other = Dim("batch", max=64), Dim("other", max=64)
quarter = Dim("quarter")

RIGHT = {"tokens": {0: batch, 1: 4 * quarter}, "mask": {0: batch, 1: 4 * quarter}}
RIGHT_zero_and_one_apart = tuple({0: Dim("rows", min=2, max=64), 1: 4 * quarter} for _ in range(2))
WRONG_407_fewer_sequences = {name: {0: Dim("rows", max=32), 1: 4 * quarter} for name in ("tokens", "mask")}
WRONG_407_longer_sequences = {name: {0: batch, 1: 4 * Dim("k", min=5)} for name in ("tokens", "mask")}
WRONG_407_more_divides = {name: {0: batch, 1: 8 * Dim("eighth")} for name in ("tokens", "mask")}
WRONG_408_any_number = {name: {0: Dim("rows"), 1: 4 * quarter} for name in ("tokens", "mask")}
WRONG_408_nothing_divides = {name: {0: batch, 1: Dim("width")} for name in ("tokens", "mask")}
WRONG_408_not_equal = {"tokens": {0: batch, 1: 4 * quarter}, "mask": {0: other, 1: 4 * quarter}}
WRONG_408_whatever_export_finds = {name: {0: Dim.AUTO, 1: Dim.AUTO} for name in ("tokens", "mask")}
WRONG_409_static_width = {"tokens": {0: batch}, "mask": {0: batch}}
