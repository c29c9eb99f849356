"""Fills a copy where the mask says so; the caller's tensor stays."""

import torch


def fn(x, mask):
    y = x
    # decided from here
    if mask.any():
        y = y.clone()
        y[mask] = -1.0
    else:
        y = y.clone()
    # to here
    return y


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(4, 3, generator=g), torch.rand(4, generator=g) > 0.5
