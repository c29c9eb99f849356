"""Marked rows are emptied; further terms, and an adapter that somebody adds later, are for what has any."""

import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.adapter = None

    def forward(self, x, mask, *terms):
        # decided from here
        if not mask.any():
            return x * 1
        # to here
        y = x.masked_fill(mask.unsqueeze(-1), 0.0)
        for term in terms:
            y = y + term
        if self.adapter is not None:
            y = y + self.adapter(x)
        if not torch.is_grad_enabled():
            y = y + 1
        return y

    def emptied(self, x, mask, terms):
        y = x.masked_fill(mask.unsqueeze(-1), 0.0)
        for term in terms:
            y = y + term
        y = y if self.adapter is None else y + self.adapter(x)
        return y if torch.is_grad_enabled() else y + 1


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(4, 3, generator=g), torch.rand(4, generator=g) < [0.0, 0.6][seed % 2]
