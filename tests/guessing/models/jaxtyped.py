from __future__ import annotations

import torch
from torch import Tensor, nn


def jaxtyped(function):
    return function


class Mixer(nn.Module):
    def __init__(self, dim: int, n_tokens: int):
        super().__init__()
        self.tokens = nn.Linear(n_tokens, n_tokens)
        self.channels = nn.Linear(dim, dim)

    @jaxtyped
    def forward(self, x: Float[Tensor, "batch n_tokens dim"], keep: Bool[Tensor, "batch n_tokens"]) -> Float[Tensor, "n dim"]:
        y = self.tokens(x.transpose(1, 2)).transpose(1, 2)
        return self.channels(y)[keep]
