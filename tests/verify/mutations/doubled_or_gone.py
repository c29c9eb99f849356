"""What is loud is doubled, else nothing is left; integers, which nobody declared here, stay integers."""

import torch


def fn(x):
    # decided from here
    if x.abs().max() > 2:
        y = x * 2
    else:
        y = x - x
    # to here
    return y


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return (torch.randn(2, 3, generator=g) * [1, 3][seed % 2],)
