"""Non-maximum suppression of three boxes."""

import torch
from kornia.geometry.bbox import nms

PACKAGE = "kornia"

torch.manual_seed(0)


class Wrapped(torch.nn.Module):
    def forward(self, b, s):
        return nms(b, s, 0.5)


model = Wrapped()
args = (
    torch.tensor([[10.0, 10.0, 20.0, 20.0], [15.0, 5.0, 15.0, 25.0], [10.0, 10.0, 19.0, 20.0]]),
    torch.tensor([0.9, 0.8, 0.7]),
)
kwargs = {}
