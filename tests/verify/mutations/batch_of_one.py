"""The mean over the batch; a batch of one is centred on itself. The batch may have any size."""

import torch


def fn(x):
    # decided from here
    if x.shape[0] == 1:
        y = x[0] - x[0]
    else:
        y = x.mean(0)
    # to here
    return y


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return (torch.randn(4 + seed % 3, 3, generator=g),)
