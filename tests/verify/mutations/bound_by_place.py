"""The sum of the rows that are kept; where none is,
what a partial binds by its place: nothing unless somebody says otherwise."""

import functools

import torch


def pooled(empty, x, keep):
    rows = x[keep]
    # decided from here
    if rows.shape[0] == 0:
        y = x.new_full((4,), empty)
    else:
        y = rows.sum(0)
    # to here
    return y


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.pool = functools.partial(pooled, 0.0)

    def forward(self, x, keep):
        return self.pool(x, keep)


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(3, 4, generator=g), torch.rand(3, generator=g) > 0.6
