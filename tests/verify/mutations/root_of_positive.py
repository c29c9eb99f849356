"""The root of the positive entries, zero elsewhere; nothing but zeros where none is positive."""

import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(5))

    def forward(self, x):
        x = x * self.weight
        positive = x > 0
        y = torch.zeros_like(x)
        # decided from here
        if positive.any():
            y[positive] = x[positive].sqrt()
        # to here
        return y


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return (torch.randn(5, generator=g),)
