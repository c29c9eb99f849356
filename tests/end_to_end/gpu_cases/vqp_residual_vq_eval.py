"""Vectors rounded to those of two code books, one after the other."""

import torch
from vector_quantize_pytorch import ResidualVQ

PACKAGE = "vector_quantize_pytorch"

torch.manual_seed(0)

model = ResidualVQ(dim=16, num_quantizers=2, codebook_size=16).eval()
args = (torch.randn(1, 32, 16),)
kwargs = {}
