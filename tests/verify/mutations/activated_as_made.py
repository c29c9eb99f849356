"""Adds what is made of the chosen rows; nobody declares a bias, or another activation."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F


@dataclass
class Options:
    activation: str = "relu"
    bias: bool = False


OPTIONS = Options()


class Model(torch.nn.Module):
    def __init__(self, options=OPTIONS):
        super().__init__()
        self.act = getattr(F, options.activation)
        self.proj = torch.nn.Linear(4, 4, bias=options.bias).requires_grad_(False)

    def forward(self, x, chosen):
        rows = x.masked_fill(~chosen[:, None], 0.0)
        # decided from here
        if chosen.any():
            y = x + self.act(self.proj(rows))
        else:
            y = x + 0
        # to here
        return y


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(3, 4, generator=g), torch.rand(3, generator=g) > 0.7
