"""Takes its scale from the first batch that has any."""

import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("scale", torch.zeros(()))

    def forward(self, x):
        # decided from here
        if self.scale == 0:
            self.scale.copy_(x.abs().max())
        # to here
        return x * self.scale


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return (torch.randn(4, 3, generator=g),)
