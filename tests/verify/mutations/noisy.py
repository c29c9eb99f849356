"""Noise where asked for, then dropout."""

import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.drop = torch.nn.Dropout(0.5)

    def forward(self, x, loud):
        # decided from here
        if loud.any():
            x = x + torch.randn_like(x)
        # to here
        return x.abs()


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(4, 3, generator=g), torch.rand(3, generator=g) > 0.6
