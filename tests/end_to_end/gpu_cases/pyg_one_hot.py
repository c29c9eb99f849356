"""As many columns as the largest number asks for."""

import torch
from torch_geometric.utils import one_hot

PACKAGE = "torch_geometric"

torch.manual_seed(0)


class Wrapped(torch.nn.Module):
    def forward(self, index):
        return one_hot(index)


model = Wrapped()
args = (torch.tensor([0, 2, 1, 3]),)
kwargs = {}
