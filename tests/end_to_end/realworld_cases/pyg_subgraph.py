"""The edges among some nodes, renumbered."""

import torch
from torch_geometric.utils import subgraph

PACKAGE = "torch_geometric"

torch.manual_seed(0)


class Wrapped(torch.nn.Module):
    def forward(self, s, ei):
        return subgraph(s, ei, relabel_nodes=True)


model = Wrapped()
args = (
    torch.tensor([0, 1, 2]),
    torch.tensor([[0, 1, 2, 3, 4, 5, 0, 2], [1, 2, 0, 4, 5, 3, 2, 1]]),
)
kwargs = {}
