# ZeroDivisionError
import torch
from torch import nn

1 / 0


class Model(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            return x * 2
        return x


def get_inputs():
    return [torch.ones(3)]
