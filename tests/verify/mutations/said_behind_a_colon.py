"""The sum of the rows that are kept; where none is,
what its text says behind a colon."""

import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.how = "sum:0.0"

    def forward(self, x, keep):
        rows = x[keep]
        # decided from here
        if rows.shape[0] == 0:
            y = x.new_full((4,), float(self.how.partition(":")[2]))
        else:
            y = rows.sum(0)
        # to here
        return y


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(3, 4, generator=g), torch.rand(3, generator=g) > 0.6
