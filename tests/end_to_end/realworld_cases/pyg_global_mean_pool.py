"""The mean over the nodes of each graph in a batch."""

import torch
from torch_geometric.nn import global_mean_pool

PACKAGE = "torch_geometric"

torch.manual_seed(0)


class Wrapped(torch.nn.Module):
    def forward(self, x, batch):
        return global_mean_pool(x, batch)


model = Wrapped()
args = (
    torch.randn(6, 8),
    torch.tensor([0, 0, 0, 1, 1, 1]),
)
kwargs = {}
