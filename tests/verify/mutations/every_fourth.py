"""Counts its calls in Python, and does something else on each fourth: what is exported stays at the first."""

import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        # decided from here
        y = x + 1
        if x.sum() > 0:
            y = x * (3 if self.calls % 4 == 0 else 2)
        # to here
        return y


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return (torch.randn(3, generator=g).abs() * [1, -1][seed % 5 == 4],)
