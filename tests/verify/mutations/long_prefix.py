"""Zeros behind a length, of more places than bfloat16 can count."""

import torch


def fn(x, lengths):
    # decided from here
    n = lengths.max().item()
    y = x.clone()
    if n < x.shape[0]:
        y[n:] = 0
    # to here
    return y


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return torch.rand(300, generator=g) + 1, torch.tensor([7, [261, 300][seed % 2]])
