"""The sum of the rows that are kept; where none is,
what the one object in a set hides: nothing unless somebody says otherwise."""

import torch


class Slot:
    def __init__(self, value):
        self.__value = value

    def now(self):
        return self.__value


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.slots = {Slot(0.0)}

    def forward(self, x, keep):
        (slot,) = self.slots
        rows = x[keep]
        # decided from here
        if rows.shape[0] == 0:
            y = x.new_full((4,), slot.now())
        else:
            y = rows.sum(0)
        # to here
        return y


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(3, 4, generator=g), torch.rand(3, generator=g) > 0.6
