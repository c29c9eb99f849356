"""On every fifth call what was collected is halved; one call alone never shows it."""

import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.tensor(0))
        self.register_buffer("collected", torch.ones(3))

    def forward(self, x):
        self.calls += 1
        self.collected += x.detach().abs().sum(0)
        # decided from here
        if self.calls % 5 == 0:
            self.collected *= 0.5
        # to here
        return x / self.collected


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return (torch.randn(4, 3, generator=g),)
