# called sys.exit(3)
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            return x * 2
        return x


def get_inputs():
    raise SystemExit(3)
