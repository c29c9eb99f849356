"""Refuses what no declared input shows."""

import torch


def fn(x, lengths):
    # decided from here
    if lengths.max() > 6:
        raise ValueError("a length is larger than 6")
    # to here
    return x * (torch.arange(6) < lengths[:, None])


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(4, 6, generator=g), torch.randint(1, 7, (4,), generator=g)
