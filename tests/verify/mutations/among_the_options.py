"""The sum of the rows that are kept; where none is,
ones where its options say so."""

import torch

OPTIONS = frozenset({"sorted"})


class Model(torch.nn.Module):
    def forward(self, x, keep):
        rows = x[keep]
        # decided from here
        if rows.shape[0] == 0:
            y = x.new_full((4,), 1.0 if "ones" in OPTIONS else 0.0)
        else:
            y = rows.sum(0)
        # to here
        return y


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(3, 4, generator=g), torch.rand(3, generator=g) > 0.6
