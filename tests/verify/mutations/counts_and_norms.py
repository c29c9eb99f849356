"""An arm that counts in a module's global and normalizes by a module that is held in a list."""

import torch

SEEN = {"loud": 0}
NORMS = [torch.nn.BatchNorm1d(3)]


class Meter:
    def __init__(self):
        self.count = 0


class Model(torch.nn.Module):
    highest = 0

    def __init__(self):
        super().__init__()
        self.meter = Meter()

    def forward(self, x):
        # decided from here
        if x.sum() > 0:
            SEEN["loud"] += 1
            self.meter.count += 1
            Model.highest = max(Model.highest, x.shape[0])
            y = NORMS[0](x)
        else:
            y = x * 2
        # to here
        return y


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return (torch.randn(4, 3, generator=g),)
