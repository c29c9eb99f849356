"""Rows cut to their lengths; a fast path where all are alike."""

import torch


def fn(x, lengths):
    # decided from here
    if (lengths == lengths[0]).all():
        y = x.clone()
        y[:, lengths[0] :] = 0
    else:
        y = x * (torch.arange(x.shape[1]) < lengths[:, None])
    # to here
    return y


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(4, 5, generator=g), torch.randint(0, 6, (4,), generator=g)
