"""Noise from a generator that the program is given."""

import random

import torch


class Model(torch.nn.Module):
    def forward(self, x, draw):
        # decided from here
        if x.sum() > 0:
            y = x * draw.uniform(0.5, 2.0)
        else:
            y = x - 1
        # to here
        return y


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(4, 3, generator=g), random.Random(seed)
