# runs
import os

import torch
from torch import nn

os.closerange(0, 3)


class Model(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            return x * 2
        return x


def get_inputs():
    return [torch.ones(3)]
