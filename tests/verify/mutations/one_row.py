"""Normalized over the rows that count; a lone row is only centred."""

import torch


def fn(x, keep):
    rows = x[keep]
    # decided from here
    if rows.shape[0] <= 1:
        y = rows - rows
    else:
        y = (rows - rows.mean(0)) / (rows.var(0) + 1e-3)
    # to here
    return y


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(6, 3, generator=g), torch.rand(6, generator=g) > 0.4
