"""The sum of what is kept, and of nothing what a property says; a class that is made of this one has another."""

import torch


class Model(torch.nn.Module):
    @property
    def empty(self):
        return self.training * 0.0

    def forward(self, x, keep):
        rows = x[keep]
        # decided from here
        if rows.shape[0] == 0:
            y = x.new_full((4,), self.empty)
        else:
            y = rows.sum(0)
        # to here
        return y


class InLogarithms(Model):
    @property
    def empty(self):
        return float("-inf")


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(3, 4, generator=g), torch.rand(3, generator=g) > 0.6
