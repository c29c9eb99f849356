"""The mean of the kept rows, zeros where none is kept."""

import torch


def fn(x, keep):
    # decided from here
    if keep.any():
        y = x[keep].mean(0)
    else:
        y = x.new_zeros(x.shape[1])
    # to here
    return y


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(6, 3, generator=g), torch.rand(6, generator=g) > 0.4
