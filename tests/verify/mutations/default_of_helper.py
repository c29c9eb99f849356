"""The sum of what is kept, or what a helper takes for it by default; another caller gives it something else."""

import torch


def pooled(x, keep, fill=0.0):
    rows = x[keep]
    # decided from here
    if rows.shape[0] == 0:
        y = x.new_full((3,), fill)
    else:
        y = rows.sum(0)
    # to here
    return y


class Model(torch.nn.Module):
    def __init__(self, power=1):
        super().__init__()
        self.power = power

    def forward(self, x, keep):
        return pooled(x, keep) ** self.power

    def report(self, x, keep):
        return pooled(x, keep, fill=-1.0)


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(4, 3, generator=g), torch.rand(4, generator=g) > [0.4, 1.0][seed % 2]
