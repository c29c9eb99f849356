"""Rows are put into the slots that they were given; those of a negative number are left out."""

import torch


def fn(rows, slots):
    cache = torch.ones(6, 3) * rows.mean()
    # decided from here
    for row, slot in zip(rows, slots, strict=True):
        if slot >= 0:
            cache[slot] = row
    # to here
    return cache


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    slots = torch.randperm(6, generator=g)[:2]
    return torch.randn(2, 3, generator=g), slots.where(torch.rand(2, generator=g) < 0.6, -1)
