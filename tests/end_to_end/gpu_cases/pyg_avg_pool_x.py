"""Nodes averaged by cluster."""

import torch
from torch_geometric.nn import avg_pool_x

PACKAGE = "torch_geometric"

torch.manual_seed(0)


class Wrapped(torch.nn.Module):
    def forward(self, cluster, x, batch):
        return avg_pool_x(cluster, x, batch)


model = Wrapped()
args = (torch.tensor([0, 0, 2, 3, 3, 5]), torch.randn(6, 4), torch.tensor([0, 0, 0, 1, 1, 1]))
kwargs = {}
