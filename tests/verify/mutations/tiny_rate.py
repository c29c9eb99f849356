"""Steps of two small sizes; a float64 factor; a large number that has nothing to do with the result."""

import torch


def fn(x, wide, offset):
    # decided from here
    if x.sum() > 0:
        step = x * 1e-7
        scaled = wide * 0.1
    else:
        step = x * 2e-7
        scaled = wide * 0.3
    # to here
    return step, scaled, offset + 1


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    x, wide = torch.randn(5, generator=g), torch.randn(5, generator=g, dtype=torch.float64)
    return x, wide, torch.full((2,), 1e12)
