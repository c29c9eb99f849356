# SIGSEGV
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            return x * 2
        return x


def get_inputs():
    import os
    import signal

    os.kill(os.getpid(), signal.SIGSEGV)
