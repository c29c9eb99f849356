"""The sum of what is kept, and of nothing what the class has, which a method of the class says."""

import torch


class Model(torch.nn.Module):
    floor: float = 0.0

    @classmethod
    def least(cls):
        return cls.floor

    def forward(self, x, keep):
        rows = x[keep]
        # decided from here
        if rows.shape[0] == 0:
            y = x.new_full((4,), self.least())
        else:
            y = rows.sum(0)
        # to here
        return y


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(3, 4, generator=g), torch.rand(3, generator=g) > 0.6
