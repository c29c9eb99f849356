"""A row is put into the slot that it was given; the caller says by a negative number that it is to be left out."""

import torch


def fn(row, slot):
    cache = torch.ones(6, 3) * row.mean()
    place = slot.item()
    # decided from here
    if place >= 0:
        cache[place] = row
    # to here
    return cache


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(3, generator=g), torch.randint(0, 6, (), generator=g) if seed % 2 else torch.tensor(-1)
