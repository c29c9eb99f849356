"""The sum of the rows that are kept, where there are enough; how few are too few, the module is made with."""

import torch


class Model(torch.nn.Module):
    def __init__(self, least=0):
        super().__init__()
        self.least = least

    def forward(self, x, keep):
        rows = x[keep]
        # decided from here
        if rows.shape[0] <= self.least:
            return x.new_zeros(3)
        return rows.sum(0)
        # to here


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(4, 3, generator=g), torch.rand(4, generator=g) < [0.0, 0.6][seed % 2]
