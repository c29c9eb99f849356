"""Graphs of different sizes, padded to rows of equal length."""

import torch
from torch_geometric.utils import to_dense_batch

PACKAGE = "torch_geometric"

torch.manual_seed(0)


class Wrapped(torch.nn.Module):
    def forward(self, x, batch):
        return to_dense_batch(x, batch)


model = Wrapped()
args = (
    torch.randn(6, 8),
    torch.tensor([0, 0, 0, 1, 1, 1]),
)
kwargs = {}
