"""Leaves the last positive batch with the caller, counts in a part of its own, and keeps what it saw out of sight."""

import torch


class Memory:
    def __init__(self):
        self.last = None


class Part(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.count = 0


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.part = Part()
        self.memory = Memory()

    def forward(self, x, cache):
        # decided from here
        if x.sum() > 0:
            cache["last"] = x.clone()
        self.part.count += 1
        # to here
        previous, self.memory.last = self.memory.last, x.detach()
        return x * 2 if previous is None else x + previous


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(4, 3, generator=g), {"last": torch.zeros(4, 3)}
