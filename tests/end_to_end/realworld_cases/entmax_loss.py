"""A sparse loss that ignores one label."""

import torch
from entmax import Entmax15Loss

PACKAGE = "entmax"

torch.manual_seed(0)
model = Entmax15Loss(k=4, ignore_index=0)
args = (torch.randn(6, 10), torch.tensor([1, 2, 0, 4, 0, 6]))
kwargs = {}
