"""A mixture of experts with its auxiliary losses."""

import torch
from st_moe_pytorch import MoE

PACKAGE = "st_moe_pytorch"

torch.manual_seed(0)
model = MoE(dim=16, num_experts=4, gating_top_n=2).eval()
args = (torch.randn(2, 16, 16),)
kwargs = {}
