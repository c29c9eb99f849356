"""Lowers what lies above eight, where anything does."""

import torch


def fn(x, counts):
    # decided from here
    if counts.max() > 8:
        counts = counts.clamp(max=8)
        x = x * 0.5
    # to here
    return x.sum() + counts.sum(), counts


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(5, generator=g), torch.randint(0, 9, (5,), generator=g)
