"""What is done with all rows hangs on the first one alone, and on the first number of that."""

import torch


def fn(x, limit):
    x = x.detach()
    # decided from here
    if x[0].sum() <= 0:
        y = x * 2
    else:
        y = x - limit
    # to here
    return y


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(3, 2, generator=g), torch.tensor(2.0)
