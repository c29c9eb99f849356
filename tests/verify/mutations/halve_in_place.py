"""Halves its argument in place where it is large, and returns it: who writes to the result writes to the argument."""

import torch


def fn(x):
    # decided from here
    if x.max() > 2:
        x.mul_(0.5)
    y = x
    # to here
    return y[:]


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return (torch.rand(4, generator=g) * [1, 5][seed % 2],)
