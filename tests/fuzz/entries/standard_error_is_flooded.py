# runs
import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            return x * 2
        return x


def get_inputs():
    import sys

    for _ in range(20_000):
        print("x" * 1000, file=sys.stderr)
    return [torch.ones(3)]
