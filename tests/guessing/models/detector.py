import torch
from torch import nn


class Head(nn.Module):
    def __init__(self, num_classes):
        super().__init__()
        self.score = nn.Linear(4, num_classes)

    def forward(self, images, boxes: list[torch.Tensor]):
        b, c, h, w = images.shape
        out = []
        for box in boxes:
            wide = box[:, 2] - box[:, 0]
            box = box[wide > 0.5]
            if box.shape[0] == 0:
                continue
            out.append(self.score(box))
        return images.mean((1, 2, 3)), out
