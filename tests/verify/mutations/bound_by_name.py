"""Ways to bound a value stand in a table: the model bounds tensors by one, the settings numbers."""

import torch


def bounded(value, most):
    # decided from here
    if value > most:
        return most
    return value
    # to here


WAYS = {"bounded": bounded}


def settings(raw, way="bounded"):
    return {name: WAYS[way](number, 10) for name, number in raw.items()}


class Model(torch.nn.Module):
    def forward(self, x, most):
        return x * bounded(x.abs().mean(), most)


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(4, 3, generator=g) * (1 + seed % 3), torch.tensor(1.5)
