"""The sum of the rows that are kept; where none is,
what is found among pairs: nothing unless somebody says otherwise."""

import torch


class Defaults:
    def __init__(self, pairs):
        self.pairs = pairs

    def __call__(self, name):
        return next(value for key, value in vars(self)["pairs"] if key == name)


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.default = Defaults([("empty", 0.0)])

    def forward(self, x, keep):
        rows = x[keep]
        # decided from here
        if rows.shape[0] == 0:
            y = x.new_full((4,), self.default("empty"))
        else:
            y = rows.sum(0)
        # to here
        return y


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(3, 4, generator=g), torch.rand(3, generator=g) > 0.6
