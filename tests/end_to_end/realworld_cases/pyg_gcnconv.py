"""A graph convolution; plain export takes it as it is."""

import torch
from torch_geometric.nn import GCNConv

PACKAGE = "torch_geometric"

torch.manual_seed(0)
model = GCNConv(8, 8).eval()
ei = torch.tensor([[0, 1, 2, 3, 4, 5, 0, 2], [1, 2, 0, 4, 5, 3, 2, 1]])
ei = ei[:, ei[1].argsort()]
args = (torch.randn(6, 8), ei)
kwargs = {}
