"""The sum of what is kept, and of nothing what the options say, which are asked for by the module's own name."""

import types

import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.options = types.SimpleNamespace(fill=0.0)

    def __getattr__(self, name):
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(self.__dict__["options"], name)

    def forward(self, x, keep):
        rows = x[keep]
        # decided from here
        if rows.shape[0] == 0:
            y = x.new_full((4,), self.fill)
        else:
            y = rows.sum(0)
        # to here
        return y


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(3, 4, generator=g), torch.rand(3, generator=g) > 0.6
