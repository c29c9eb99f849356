"""A recurrent readout over the nodes of each graph."""

import torch
from torch_geometric.nn.aggr import Set2Set

PACKAGE = "torch_geometric"

torch.manual_seed(0)
model = Set2Set(8, 2).eval()
args = (torch.randn(6, 8), torch.tensor([0, 0, 0, 1, 1, 1]))
kwargs = {}
