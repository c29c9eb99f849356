"""Noise for the rows that a mask names."""

import torch


class Model(torch.nn.Module):
    def forward(self, x, loud):
        # decided from here
        if loud.any():
            rows = loud.nonzero().squeeze(1)
            x = x.index_add(0, rows, torch.randn(rows.numel(), 3, dtype=x.dtype))
        # to here
        return x.abs()


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(4, 3, generator=g), torch.rand(4, generator=g) > 0.7
