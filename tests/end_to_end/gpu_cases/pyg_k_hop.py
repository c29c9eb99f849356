"""The nodes at most two edges away, numbered anew."""

import torch
from torch_geometric.utils import k_hop_subgraph

PACKAGE = "torch_geometric"

torch.manual_seed(0)


class Wrapped(torch.nn.Module):
    def forward(self, start, edges):
        return k_hop_subgraph(start, 2, edges, relabel_nodes=True)


model = Wrapped()
args = (torch.tensor([0]), torch.tensor([[0, 1, 2, 3, 4, 5, 0, 2], [1, 2, 0, 4, 5, 3, 2, 1]]))
kwargs = {}
