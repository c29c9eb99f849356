"""A batch of graphs taken apart again."""

import torch
from torch_geometric.utils import unbatch

PACKAGE = "torch_geometric"

torch.manual_seed(0)


class Wrapped(torch.nn.Module):
    def forward(self, x, batch):
        return unbatch(x, batch)


model = Wrapped()
args = (
    torch.randn(6, 8),
    torch.tensor([0, 0, 0, 1, 1, 1]),
)
kwargs = {}
