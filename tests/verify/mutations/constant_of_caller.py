"""The sum of the rows that are kept; where none is,
what its only caller gives by its place: nothing unless somebody says otherwise."""

import torch


def pooled(x, keep, empty):
    rows = x[keep]
    # decided from here
    if rows.shape[0] == 0:
        y = x.new_full((4,), empty)
    else:
        y = rows.sum(0)
    # to here
    return y


class Model(torch.nn.Module):
    def forward(self, x, keep):
        return pooled(x, keep, 0.0)


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(3, 4, generator=g), torch.rand(3, generator=g) > 0.6
