"""Noisy steps until the rows are small; noise of its own at the end, on other rows."""

import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.score = torch.nn.Linear(3, 3)

    def forward(self, x):
        # decided from here
        for _ in range(4):
            if x.abs().mean() < 0.8:
                break
            x = x * 0.8 + 0.05 * torch.randn_like(x)
        # to here
        return self.score(x)


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return (torch.randn(4, 3, generator=g) * (0.5 + seed % 4),)
