"""Marked rows are emptied, a tail shifts what is left by a field of its own, and a projection may be attached later."""

import torch


class Tail(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.shift = 0.0

    def forward(self, x):
        return x + self.shift


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.tail, self.projection = Tail(), None

    def finish(self, y):
        return y if self.projection is None else self.projection(y)

    def emptied(self, x, mask):
        return self.finish(self.tail(x.masked_fill(mask.unsqueeze(-1), 0.0)))

    def forward(self, x, mask):
        # decided from here
        if not mask.any():
            return x * 1
        # to here
        return self.emptied(x, mask)


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(4, 3, generator=g), torch.rand(4, generator=g) < [0.0, 0.6][seed % 2]
