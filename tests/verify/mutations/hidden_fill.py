"""The sum of the rows that are kept; where none is, what settings and a global come to: nothing."""

import torch

SHIFT = 0.0


class Model(torch.nn.Module):
    def __init__(self, fills=False, fill=0.0, kind="sum"):
        super().__init__()
        self.fills, self.fill, self.kind = fills, fill, kind
        self.empty_sum = 0.0

    def forward(self, x, keep):
        rows = x[keep]
        # decided from here
        if rows.shape[0] == 0:
            y = x.new_full((4,), (self.fill if self.fills else 0.0) + SHIFT + getattr(self, f"empty_{self.kind}"))
        else:
            y = rows.sum(0)
        # to here
        return y


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(3, 4, generator=g), torch.rand(3, generator=g) > 0.6
