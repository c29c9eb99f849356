"""The best half of the nodes of each graph."""

import torch
from torch_geometric.nn import TopKPooling

PACKAGE = "torch_geometric"

torch.manual_seed(0)


class Pooling(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.p = TopKPooling(8, ratio=0.5)

    def forward(self, x, ei, batch):
        o = self.p(x, ei, batch=batch)
        return o[0], o[1]


model = Pooling().eval()
args = (
    torch.randn(6, 8),
    torch.tensor([[0, 1, 2, 3, 4, 5, 0, 2], [1, 2, 0, 4, 5, 3, 2, 1]]),
    torch.tensor([0, 0, 0, 1, 1, 1]),
)
kwargs = {}
