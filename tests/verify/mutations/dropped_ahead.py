"""What a layer says, some of it left out in training (none as it is made here), is doubled where it is small."""

import torch
from torch import nn
from torch.nn import functional as F


class Model(nn.Module):
    def __init__(self, dropout=0.0):
        super().__init__()
        self.inner = nn.Linear(3, 3)
        self.dropout = dropout

    def forward(self, x):
        rows = self.inner(x)
        kept = F.dropout(rows, self.dropout, self.training)
        # decided from here
        if rows.abs().mean() < 0.6:
            y = kept * 2
        else:
            y = kept + F.dropout(kept, self.dropout, self.training)
        # to here
        return y


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return (torch.randn(4, 3, generator=g) * (0.5 if seed % 2 else 2.0),)
