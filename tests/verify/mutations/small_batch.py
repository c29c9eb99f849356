"""The spread of what is kept; of less than two it is zero, and what comes later hides a NaN."""

import torch


def fn(x, keep, limit):
    kept = x.detach()[keep]
    # decided from here
    if kept.shape[0] < 2:
        y = kept - kept
    else:
        y = (kept - kept.mean(0)) / (kept.std(0) + 1e-6)
    # to here
    return torch.nan_to_num(y.sum(0)) * 0 + limit


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(5, 3, generator=g), torch.rand(5, generator=g) < (0.5 if seed % 3 else 0.15), torch.tensor(2.0)
