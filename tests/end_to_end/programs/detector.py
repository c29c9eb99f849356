"""A single-shot detector: a small backbone, anchors, and the usual post-processing of one image."""

from __future__ import annotations

import logging
import math

import torch
import torch.nn.functional as F
from torch import nn

logger = logging.getLogger(__name__)


def make_anchors(rows: int, columns: int, stride: int, scales=(1.0, 2.0)) -> torch.Tensor:
    """Boxes (x1, y1, x2, y2) around each cell's centre."""
    boxes = []
    for row in range(rows):
        for column in range(columns):
            for scale in scales:
                half = stride * scale
                x, y = (column + 0.5) * stride, (row + 0.5) * stride
                boxes.append([x - half, y - half, x + half, y + half])
    return torch.tensor(boxes)


def decode(anchors: torch.Tensor, deltas: torch.Tensor) -> torch.Tensor:
    widths = anchors[:, 2] - anchors[:, 0]
    heights = anchors[:, 3] - anchors[:, 1]
    x = anchors[:, 0] + 0.5 * widths + deltas[:, 0] * widths
    y = anchors[:, 1] + 0.5 * heights + deltas[:, 1] * heights
    w = widths * torch.exp(deltas[:, 2].clamp(max=math.log(4)))
    h = heights * torch.exp(deltas[:, 3].clamp(max=math.log(4)))
    return torch.stack([x - w / 2, y - h / 2, x + w / 2, y + h / 2], dim=1)


def box_iou(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    area_a = (a[:, 2] - a[:, 0]) * (a[:, 3] - a[:, 1])
    area_b = (b[:, 2] - b[:, 0]) * (b[:, 3] - b[:, 1])
    top_left = torch.max(a[:, None, :2], b[None, :, :2])
    bottom_right = torch.min(a[:, None, 2:], b[None, :, 2:])
    wh = (bottom_right - top_left).clamp(min=0)
    inter = wh[..., 0] * wh[..., 1]
    return inter / (area_a[:, None] + area_b[None, :] - inter + 1e-6)


def nms(boxes: torch.Tensor, scores: torch.Tensor, threshold: float) -> torch.Tensor:
    """Indices of the boxes that stay, best first."""
    if boxes.numel() == 0:
        return torch.empty(0, dtype=torch.int64)
    order = scores.argsort(descending=True)
    overlap = box_iou(boxes[order], boxes[order])
    keep = torch.ones(len(order), dtype=torch.bool)
    for i in range(len(order)):
        if not keep[i]:
            continue
        suppressed = overlap[i] > threshold
        suppressed[: i + 1] = False
        keep = keep & ~suppressed
    return order[keep]


class Backbone(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, channels, 3, stride=4, padding=1)
        self.body = nn.Conv2d(channels, channels, 3, padding=1)

    def forward(self, image):
        return F.relu(self.body(F.relu(self.stem(image))))


class Head(nn.Module):
    def __init__(self, channels: int, classes: int, per_cell: int) -> None:
        super().__init__()
        self.classes = classes
        self.score = nn.Conv2d(channels, per_cell * (classes + 1), 1)
        self.delta = nn.Conv2d(channels, per_cell * 4, 1)

    def forward(self, features):
        scores = self.score(features).permute(0, 2, 3, 1).reshape(-1, self.classes + 1)
        deltas = self.delta(features).permute(0, 2, 3, 1).reshape(-1, 4)
        return scores.softmax(-1), deltas


class Model(nn.Module):
    def __init__(self, classes: int = 3, size: int = 16, stride: int = 4) -> None:
        super().__init__()
        self.size = size
        self.backbone = Backbone(8)
        self.head = Head(8, classes, per_cell=2)
        self.register_buffer("anchors", make_anchors(size // stride, size // stride, stride))
        self.score_threshold = 0.3
        self.max_detections = 10

    def postprocess(self, scores, boxes):
        best, label = scores[:, 1:].max(dim=1)
        candidates = best > self.score_threshold
        boxes, best, label = boxes[candidates], best[candidates], label[candidates]
        sizes = boxes[:, 2:] - boxes[:, :2]
        big_enough = (sizes > 1.0).all(dim=1)
        if not big_enough.all():
            boxes, best, label = boxes[big_enough], best[big_enough], label[big_enough]
        if len(boxes) == 0:
            logger.info("nothing found")
            return {"boxes": boxes, "scores": best, "labels": label}
        # Boxes of different classes must not suppress each other.
        offsets = label.to(boxes) * (boxes.max() + 1)
        keep = nms(boxes + offsets[:, None], best, threshold=0.5)
        if keep.shape[0] > self.max_detections:
            keep = keep[: self.max_detections]
        return {"boxes": boxes[keep], "scores": best[keep], "labels": label[keep]}

    def forward(self, image: torch.Tensor) -> dict[str, torch.Tensor]:
        if image.max() > 1.5:  # somebody passed 0..255
            image = image / 255.0
        scores, deltas = self.head(self.backbone(image))
        boxes = decode(self.anchors, deltas).clamp(0, self.size)
        if torch.isnan(boxes).any():
            raise ValueError("boxes are not finite")
        return self.postprocess(scores, boxes)


def make_inputs(seed: int) -> tuple[torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    image = torch.rand(1, 3, 16, 16, generator=generator)
    if seed % 4 == 1:
        image = image * 255.0
    if seed % 4 == 2:
        image = torch.zeros_like(image)
    return (image * (1 + seed % 3),)
