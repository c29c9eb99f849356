"""A homography by random sample consensus."""

import torch
from kornia.geometry import RANSAC

PACKAGE = "kornia"

torch.manual_seed(0)
model = RANSAC("homography", max_iter=2, batch_size=64)
p = torch.rand(20, 2)
args = (p, p * 2 + 0.1)
kwargs = {}
