#
import resource

import torch
from torch import nn

resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))


class Model(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            return x * 2
        return x


def get_inputs():
    return [torch.ones(3)]
