"""The newest frames, or the last one alone; where the count is negative, Python counts from the front."""

import torch


def fn(x, count: int = 3):
    # decided from here
    if x.mean() > 0:
        y = x[-count:].sum(0)
    else:
        y = x[-1]
    # to here
    return y


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return (torch.randn(6, 2, generator=g),)
