"""A loss over all triplets of a batch."""

import torch
from pytorch_metric_learning import losses

PACKAGE = "pytorch_metric_learning"

torch.manual_seed(0)

model = losses.TripletMarginLoss()
args = (torch.randn(8, 4), torch.tensor([0, 0, 1, 1, 2, 2, 3, 3]))
kwargs = {}
