"""Halves a copy of its argument in place where it is large: no caller's tensor is written to."""

import torch


def fn(x):
    y = x * 1.5
    # decided from here
    if y.max() > 2:
        y.mul_(0.5)
    # to here
    return y.sin()


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return (torch.rand(4, generator=g) * [1, 5][seed % 2],)
