# Untold
from torch import nn


class Untold(Exception):
    def __str__(self):
        raise RuntimeError("no text")

    __repr__ = __str__


class Model(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            return x * 2
        return x


def get_inputs():
    raise Untold
