"""Duplicate edges of a graph are merged."""

import torch
from torch_geometric.utils import coalesce

PACKAGE = "torch_geometric"

torch.manual_seed(0)


class Wrapped(torch.nn.Module):
    def forward(self, ei, w):
        return coalesce(ei, w)


model = Wrapped()
args = (
    torch.cat(
        [
            torch.tensor([[0, 1, 2, 3, 4, 5, 0, 2], [1, 2, 0, 4, 5, 3, 2, 1]]),
            torch.tensor([[0, 1, 2, 3, 4, 5, 0, 2], [1, 2, 0, 4, 5, 3, 2, 1]]),
        ],
        1,
    ),
    torch.randn(16),
)
kwargs = {}
