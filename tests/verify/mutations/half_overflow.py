"""Half precision: what overflowed is brought back to the largest number."""

import torch


def fn(x):
    y = x * 64
    # decided from here
    if torch.isinf(y).any():
        top = torch.finfo(y.dtype).max - 1000
        y = y.clamp(min=-top, max=top)
    # to here
    return y


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return ((torch.randn(6, generator=g) * (2000 if seed % 2 else 100)).half(),)
