"""Now and then a layer counts twice: what was drawn decides."""

import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 3)

    def forward(self, x):
        # decided from here
        if torch.rand(()) < 0.02:
            y = self.layer(x) * 2
        else:
            y = self.layer(x)
        # to here
        return y


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return (torch.randn(4, 3, generator=g),)
