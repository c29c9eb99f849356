"""Whether any label occurs twice; the mean of the labelled rows where none does."""

import torch


def fn(x, labels):
    ordered = labels.sort().values
    # decided from here
    if (ordered[1:] == ordered[:-1]).any():
        y = x.sum(0)
    else:
        y = x.mean(0)
    # to here
    return y


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(3, 2, generator=g), torch.randint(0, 12, (3,), generator=g)
