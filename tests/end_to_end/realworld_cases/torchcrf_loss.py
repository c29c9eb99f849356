"""The likelihood of a conditional random field with a mask."""

import torch
from torchcrf import CRF

PACKAGE = "torchcrf"

torch.manual_seed(0)
model = CRF(5, batch_first=True)
m = torch.ones(2, 6, dtype=torch.bool)
m[1, 4:] = False
args = (torch.randn(2, 6, 5), torch.randint(0, 5, (2, 6)), m)
kwargs = {}
