"""The variance of the rows that are kept, far from zero."""

import torch


def fn(x, keep):
    # decided from here
    if keep.any():
        rows = x[keep]
        y = (rows - rows.mean(0)).square().mean(0)
    else:
        y = x.new_zeros(x.shape[1])
    # to here
    return y


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return 1000 + torch.randn(8, 3, generator=g), torch.rand(8, generator=g) < (0.5 if seed % 3 else 0.0)
