"""Zeros of nothing, else what is kept, pooled as a number says: 3 is the product."""

import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.mode = 1

    def forward(self, x, keep):
        rows = x[keep]
        # decided from here
        if rows.shape[0] == 0:
            y = x.new_zeros(4)
        else:
            y = rows.prod(0) if self.mode == 3 else rows.sum(0)
        # to here
        return y


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(3, 4, generator=g), torch.rand(3, generator=g) > 0.6
