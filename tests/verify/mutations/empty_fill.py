"""The sum of the rows that are kept, scaled; a fill where none is. Both settings begin as what hides them."""

import torch


class Model(torch.nn.Module):
    def __init__(self, fill=0.0, scale=1.0):
        super().__init__()
        self.fill = fill
        self.scale = scale

    def forward(self, x, keep):
        rows = x[keep]
        # decided from here
        if rows.shape[0] == 0:
            y = x.new_full((4,), self.fill)
        else:
            y = rows.sum(0) * self.scale
        # to here
        return y


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(3, 4, generator=g), torch.rand(3, generator=g) > 0.6
