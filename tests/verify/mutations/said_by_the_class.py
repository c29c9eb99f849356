"""The sum of what is kept, and of nothing what the class says, for a class made of it to say otherwise."""

import torch


class Model(torch.nn.Module):
    @property
    def empty(self):
        return 0.0

    def least(self):
        return 1.0

    def forward(self, x, keep):
        rows = x[keep]
        # decided from here
        if rows.shape[0] == 0:
            y = x.new_full((4,), self.empty)
        else:
            y = rows.sum(0) * self.least()
        # to here
        return y


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(3, 4, generator=g), torch.rand(3, generator=g) > 0.6
