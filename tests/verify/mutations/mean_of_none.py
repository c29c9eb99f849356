"""The mean of what is kept, 0 of nothing; what comes later hides a NaN."""

import torch


def fn(x, keep, limit):
    kept = x.detach()[keep]
    # decided from here
    if kept.shape[0] == 0:
        y = x.new_zeros(3)
    else:
        y = kept.sum(0) / kept.shape[0]
    # to here
    return torch.nan_to_num(y) * 0 + limit


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(5, 3, generator=g), torch.rand(5, generator=g) < (0.5 if seed % 3 else 0.15), torch.tensor(2.0)
