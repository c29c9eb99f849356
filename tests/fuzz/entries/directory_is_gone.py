# FileNotFoundError
import os
import tempfile

import torch
from torch import nn

folder = tempfile.mkdtemp()
os.chdir(folder)
os.rmdir(folder)


class Model(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            return x * 2
        return x


def get_inputs():
    return [torch.ones(3)]
