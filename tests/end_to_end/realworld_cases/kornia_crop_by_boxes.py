"""A crop whose boxes are tensors."""

import torch
from kornia.geometry.transform import crop_by_boxes

PACKAGE = "kornia"

torch.manual_seed(0)


class Wrapped(torch.nn.Module):
    def forward(self, x, s, d):
        return crop_by_boxes(x, s, d)


model = Wrapped()
args = (
    torch.rand(1, 1, 8, 8),
    torch.tensor([[[1.0, 1.0], [4.0, 1.0], [4.0, 4.0], [1.0, 4.0]]]),
    torch.tensor([[[0.0, 0.0], [3.0, 0.0], [3.0, 3.0], [0.0, 3.0]]]),
)
kwargs = {}
