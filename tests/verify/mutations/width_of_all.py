"""A helper that others call: by keyword, with a shape, with nothing, through a method; for the model it is a tensor."""

import torch


def at_least(n, least=1):
    # decided from here
    if n < least:
        n = n * 0 + least
    # to here
    return n


def widths(rows):
    return {name: at_least(n=row.shape[-1], least=8) for name, row in rows.items()}


class Table:
    def rows(self, number=None):
        match number:
            case None:
                return 0
            case int():
                return at_least(number)


class Model(torch.nn.Module):
    def forward(self, x, count):
        return x * at_least(count, 3)


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(4, 3, generator=g), torch.tensor(seed % 7)
