"""The sum of the rows that are kept; where none is,
what a getter of the standard library gets out of the policy."""

from operator import attrgetter

import torch


class Policy:
    def __init__(self):
        self.empty = 0.0


class Trainer:
    policy = Policy()


empty_of = attrgetter("policy.empty")


class Model(torch.nn.Module):
    def forward(self, x, keep):
        rows = x[keep]
        # decided from here
        if rows.shape[0] == 0:
            y = x.new_full((4,), empty_of(Trainer))
        else:
            y = rows.sum(0)
        # to here
        return y


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(3, 4, generator=g), torch.rand(3, generator=g) > 0.6
