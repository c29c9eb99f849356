"""A mixture of experts that routes each token to two."""

import torch
from mixture_of_experts import MoE

PACKAGE = "mixture_of_experts"

torch.manual_seed(0)
model = MoE(dim=16, num_experts=4).eval()
args = (torch.randn(2, 16, 16),)
kwargs = {}
