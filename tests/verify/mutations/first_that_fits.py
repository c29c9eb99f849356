"""The sum of the rows that are kept; where none is,
what the first kind of layer that fits is worth."""

import torch

WORTH = ((torch.nn.Identity, 0.0), (torch.nn.Module, 0.0))


def worth_of(layer):
    return next(worth for kind, worth in WORTH if isinstance(layer, kind))


class Model(torch.nn.Module):
    def forward(self, x, keep):
        rows = x[keep]
        # decided from here
        if rows.shape[0] == 0:
            y = x.new_full((4,), worth_of(self))
        else:
            y = rows.sum(0)
        # to here
        return y


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(3, 4, generator=g), torch.rand(3, generator=g) > 0.6
