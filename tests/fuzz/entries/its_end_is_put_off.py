# runs
import atexit
import threading

import torch
from torch import nn

atexit.register(threading.Event().wait)


class Model(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            return x * 2
        return x


def get_inputs():
    return [torch.ones(3)]
