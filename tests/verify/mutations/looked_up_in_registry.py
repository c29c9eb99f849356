"""The sum of the rows that are kept; where none is,
what a registry looks up: nothing unless somebody says otherwise."""

import torch


class Registry:
    def __init__(self):
        self._table = {}

    def register(self, name, value):
        self._table[name] = value

    def lookup(self, name):
        return self._table[name]


SETTINGS = Registry()
SETTINGS.register("empty", 0.0)


class Model(torch.nn.Module):
    def forward(self, x, keep):
        rows = x[keep]
        # decided from here
        if rows.shape[0] == 0:
            y = x.new_full((4,), SETTINGS.lookup("empty"))
        else:
            y = rows.sum(0)
        # to here
        return y


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(3, 4, generator=g), torch.rand(3, generator=g) > 0.6
