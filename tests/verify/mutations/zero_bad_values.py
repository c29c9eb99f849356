"""Sets what isn't finite to zero in the caller's own tensor, where there is any."""

import torch


def fn(x):
    # decided from here
    if torch.isnan(x).any():
        x[torch.isnan(x)] = 0
    # to here
    return x * 2


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(4, 3, generator=g)
    if seed % 2:
        x[seed % 4, 0] = float("nan")
    return (x,)
