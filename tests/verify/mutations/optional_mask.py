"""A mask that may be left out, and a sum in the place of the mean, which no declared input asks for."""

import torch


def fn(x, mask=None, mean=True):
    # decided from here
    y = x
    if mask is not None and mask.any():
        y = x.masked_fill(mask, 0.0)
    y = y.mean(0) if mean else y.sum(0)
    # to here
    return y + 0.5


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(4, 3, generator=g), torch.rand(4, 3, generator=g) < [0.0, 0.6][seed % 2]
