"""The largest of the kept values, minus infinity where none is kept, and the place of the last one kept."""

import torch


def fn(x, keep):
    # decided from here
    if keep.any():
        top = x[keep].max()
        last = keep.nonzero()[-1, 0]
    else:
        top = x.new_full((), float("-inf"))
        last = keep.new_full((), -1, dtype=torch.int64)
    # to here
    return top, last


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(6, generator=g), torch.rand(6, generator=g) > 0.6
