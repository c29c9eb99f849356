# runs
import json

import torch
from torch import nn

json.dumps = json.loads = None


class Model(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            return x * 2
        return x


def get_inputs():
    return [torch.ones(3)]
