"""Channels in the order of the checkpoint, with its gains, where the input is wide; 0, 1, 2, … before it is loaded."""

import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("order", torch.arange(4))
        self.register_buffer("gain", torch.arange(4.0))

    def forward(self, x):
        # decided from here
        if x.abs().amax() > 1.5:
            y = x[:, self.order] * self.gain
        else:
            y = x * torch.arange(4.0).to(x)
        # to here
        return y


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return (torch.randn(3, 4, generator=g),)
