"""The sum of the rows that are kept; where none is, what a caller, a registry, an object in a set, a context and the
environment come to: nothing unless somebody says otherwise."""

import os
from contextvars import ContextVar

import torch


class Registry:
    def __init__(self):
        self._table = {}

    def register(self, name, value):
        self._table[name] = value

    def lookup(self, name):
        return self._table[name]


class Slot:
    def __init__(self, value):
        self.__value = value

    def now(self):
        return self.__value


SETTINGS = Registry()
SETTINGS.register("empty", 0.0)
EMPTY = ContextVar("empty", default=0.0)


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.slots = {Slot(0.0)}

    def forward(self, x, keep):
        return self.summed(x, keep, 0.0)

    def summed(self, x, keep, given):
        rows = x[keep]
        (slot,) = self.slots
        # decided from here
        if rows.shape[0] == 0:
            fill = given + SETTINGS.lookup("empty") + slot.now() + EMPTY.get()
            y = x.new_full((4,), fill + float(os.environ.get("EMPTY_ROWS", "0")))
        else:
            y = rows.sum(0)
        # to here
        return y


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(3, 4, generator=g), torch.rand(3, generator=g) > 0.6
