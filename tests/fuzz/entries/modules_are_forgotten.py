#
import sys

import torch
from torch import nn

for name in list(sys.modules):
    if name.startswith("ddelint"):
        del sys.modules[name]


class Model(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            return x * 2
        return x


def get_inputs():
    return [torch.ones(3)]
