"""A step is shortened to a radius; an infinite one leaves each step as it is."""

import torch


def fn(x, radius: float = 1.0):
    step = x * 3
    # decided from here
    length = step.norm()
    if length > radius:
        step = step * (radius / length)
    # to here
    return x + step


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return (torch.randn(4, generator=g).requires_grad_() * (1 if seed % 2 else 0.05),)
