"""A reduction that an argument names, 0 of nothing; nobody declares another than the sum."""

import torch

REDUCERS = {"sum": torch.sum, "prod": torch.prod, "count": lambda rows, dim: rows.sum(dim) + len(rows) + 1}


def fn(x, keep, how="sum"):
    rows = x[keep]
    # decided from here
    if rows.shape[0] == 0:
        y = x.new_zeros(4)
    else:
        y = REDUCERS[how](rows, dim=0)
    # to here
    return y


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(3, 4, generator=g), torch.rand(3, generator=g) > 0.6
