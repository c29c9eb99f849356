"""How many of two classes were right."""

import torch
from torchmetrics.functional.classification import binary_accuracy

PACKAGE = "torchmetrics"

torch.manual_seed(0)


class Wrapped(torch.nn.Module):
    def forward(self, p, t):
        return binary_accuracy(p, t)


model = Wrapped()
args = (torch.rand(8), torch.tensor([0, 1, 0, 1, 1, 0, 1, 0]))
kwargs = {}
