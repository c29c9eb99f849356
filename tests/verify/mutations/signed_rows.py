"""Rows are doubled or lowered, by the sign of their sum."""

import torch


class Model(torch.nn.Module):
    def forward(self, x):
        # decided from here
        if x.sum() > 0:
            y = x * 2
        else:
            y = x - 1
        # to here
        return y


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return (torch.randn(4, 3, generator=g),)
