"""A layer of stochastic depth, which begins with all rows surviving, and a running centre, which begins as zeros; what
it gives counts twice or once."""

import torch


class Depth(torch.nn.Module):
    def __init__(self, survival=1.0, momentum=0.0):
        super().__init__()
        self.survival, self.momentum = survival, momentum
        self.register_buffer("centre", torch.zeros(3))

    def forward(self, x):
        if self.training:
            self.centre.mul_(1 - self.momentum)
        if self.training and self.survival < 1.0:
            x = x * (torch.rand(x.shape[0], 1) < self.survival)
        return x - self.centre


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.depth = Depth()
        self.eval()

    def forward(self, x):
        # decided from here
        if x.abs().mean() > 0.8:
            y = self.depth(x) * 2
        else:
            y = self.depth(x)
        # to here
        return y


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return (torch.randn(5, 3, generator=g) * (0.6 + 0.4 * (seed % 3)),)
