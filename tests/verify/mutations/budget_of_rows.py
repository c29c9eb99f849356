"""A helper that bounds a number, for the model a tensor, for others a Python number."""

import torch


def at_most(n, most):
    # decided from here
    if n > most:
        return most
    return n
    # to here


def budget(lengths):
    return [at_most(len(length), 4) for length in lengths]


class Model(torch.nn.Module):
    def forward(self, x, count):
        return x * at_most(count, torch.tensor(5))


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(4, 3, generator=g), torch.tensor(seed % 9)
