"""Rows far from zero get what a layer says of them, of which training leaves some out; here it leaves out none."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, dropout=0.0):
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(3, 3), nn.Dropout(dropout))
        self.outer = nn.Linear(3, 3)

    def forward(self, x):
        # decided from here
        if x.abs().mean() > 0.8:
            y = x + self.inner(x)
        else:
            y = x
        # to here
        return self.outer(y)


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return (torch.randn(4, 3, generator=g) * (0.5 if seed % 2 else 2.0),)
