"""The sum of the rows that are kept; where none is, what a table that is searched, a getter, a text behind its
colon and an option come to: nothing unless somebody says otherwise."""

from operator import attrgetter

import torch

WORTH = ((torch.nn.Identity, 0.0), (torch.nn.Module, 0.0))
OPTIONS = frozenset({"sorted"})


def worth_of(layer):
    return next(worth for kind, worth in WORTH if isinstance(layer, kind))


class Policy:
    empty = 0.0


class Trainer:
    policy = Policy()


empty_of = attrgetter("policy.empty")


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.how = "sum:0.0"

    def forward(self, x, keep):
        rows = x[keep]
        # decided from here
        if rows.shape[0] == 0:
            fill = worth_of(self) + empty_of(Trainer) + float(self.how.partition(":")[2])
            y = x.new_full((4,), fill + (1.0 if "ones" in OPTIONS else 0.0))
        else:
            y = rows.sum(0)
        # to here
        return y


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(3, 4, generator=g), torch.rand(3, generator=g) > 0.6
