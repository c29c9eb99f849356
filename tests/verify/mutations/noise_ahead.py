"""Noisy steps until the rows are small; the noise of all of them is drawn ahead."""

import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.score = torch.nn.Linear(3, 3)

    def forward(self, x):
        noise = torch.randn(4, *x.shape, dtype=x.dtype)
        # decided from here
        for step in noise:
            if x.abs().mean() < 0.8:
                break
            x = x * 0.8 + 0.05 * step
        # to here
        return self.score(x)


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return (torch.randn(4, 3, generator=g) * (0.5 + seed % 4),)
