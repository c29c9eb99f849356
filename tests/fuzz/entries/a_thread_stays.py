# runs
import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            return x * 2
        return x


def get_inputs():
    import threading

    threading.Thread(target=threading.Event().wait).start()
    return [torch.ones(3)]
