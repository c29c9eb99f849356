"""A shift that is left out where it is zero; the angle tells 0.0 and -0.0 apart."""

import torch


def fn(x, shift):
    x, shift = x.detach(), shift.detach()
    # decided from here
    if shift.abs().sum() > 0:
        x = x + shift
    # to here
    return x, torch.atan2(x, -torch.ones_like(x))


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(4, generator=g), torch.randn(4, generator=g) * (seed % 3)
