"""A sum of what is kept, and a bonus that is nothing but in a class that is made of this one."""

import torch


class Model(torch.nn.Module):
    def bonus(self, rows):
        return rows * 2

    def forward(self, x, keep):
        rows = x[keep]
        # decided from here
        if rows.shape[0] == 0:
            y = x.new_zeros(3)
        else:
            y = self.bonus(rows).sum(0)
        # to here
        return y


class Averaging(Model):
    def bonus(self, rows):
        return rows - rows.mean(0).sqrt()


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(5, 3, generator=g), torch.rand(5, generator=g) > (0.5 if seed % 2 else 2)
