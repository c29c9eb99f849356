"""Zeros what is not kept; where nothing is to be kept the argument itself comes back, else a copy."""

import torch


def fn(x, keep):
    # decided from here
    y = x
    if keep.any():
        y = x * keep
    # to here
    return y


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(4, generator=g), torch.rand(4, generator=g) < [0.0, 0.6][seed % 2]
