"""The sum of the rows that are kept; where none is, what callers may give, a class has and a function encloses: nothing
unless somebody says otherwise."""

import torch


class Shared:
    share = 0.0


def made(enclosed=0.0):
    def forward(x, keep, start=None, **options):
        rows = x[keep]
        # decided from here
        if rows.shape[0] == 0:
            y = x.new_full((4,), enclosed + Shared.share + options.get("base", 0.0))
            y = y if start is None else y + start
        else:
            y = rows.sum(0)
        # to here
        return y

    return forward


fn = made()


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(3, 4, generator=g), torch.rand(3, generator=g) > 0.6
