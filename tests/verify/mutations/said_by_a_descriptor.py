"""The sum of what is kept, and of nothing a setting that is checked where it is set."""

import torch


class Ranged:
    def __set_name__(self, owner, name):
        self.name = f"_{name}"

    def __get__(self, owner, kind=None):
        return self if owner is None else owner.__dict__[self.name]

    def __set__(self, owner, value):
        assert -10 <= value <= 10
        owner.__dict__[self.name] = value


class Model(torch.nn.Module):
    fill = Ranged()

    def __init__(self):
        super().__init__()
        self.fill = 0.0

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
