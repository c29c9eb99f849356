"""Crops an image to what a small network finds salient, and resizes the crop to a fixed size."""

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import nn


class Box(NamedTuple):
    top: int
    bottom: int
    left: int
    right: int

    @property
    def height(self):
        return self.bottom - self.top

    @property
    def width(self):
        return self.right - self.left


class Saliency(nn.Module):
    def __init__(self, channels=4):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(3, channels, 3, padding=1), nn.ReLU(), nn.Conv2d(channels, 1, 3, padding=1), nn.Sigmoid()
        )

    def forward(self, image):
        return self.net(image.unsqueeze(0))[0, 0]


def bounding_box(mask: torch.Tensor) -> Box:
    rows = torch.any(mask, dim=1).nonzero()
    cols = torch.any(mask, dim=0).nonzero()
    if len(rows) == 0 or len(cols) == 0:
        return Box(0, mask.shape[0], 0, mask.shape[1])
    top, bottom = rows[0].item(), rows[-1].item() + 1
    left, right = cols[0].item(), cols[-1].item() + 1
    return Box(top, bottom, left, right)


def grow(box: Box, margin: int, height: int, width: int) -> Box:
    return Box(
        max(box.top - margin, 0),
        min(box.bottom + margin, height),
        max(box.left - margin, 0),
        min(box.right + margin, width),
    )


def adaptive_threshold(saliency: torch.Tensor) -> torch.Tensor:
    threshold = saliency.mean() + saliency.std()
    if threshold > saliency.max():
        threshold = saliency.median()
    return threshold


class Model(nn.Module):
    def __init__(self, size=8, margin=1, smallest=3):
        super().__init__()
        self.saliency = Saliency()
        self.size = size
        self.margin = margin
        self.smallest = smallest
        self.register_buffer("mean", torch.tensor([0.485, 0.456, 0.406]))
        self.classify = nn.Linear(3 * size * size, 5)

    def crop(self, image: torch.Tensor, box: Box) -> torch.Tensor:
        patch = image[:, box.top : box.bottom, box.left : box.right]
        if box.height < self.smallest or box.width < self.smallest:
            patch = image
        return F.interpolate(patch.unsqueeze(0), size=(self.size, self.size), mode="bilinear", align_corners=False)

    def prepare(self, image: torch.Tensor) -> torch.Tensor:
        if image.min() < 0:
            raise ValueError("pixels must not be negative")
        if image.max() > 1:
            image = image / image.max()
        return image

    def forward(self, image: torch.Tensor, flip: torch.Tensor):
        image = self.prepare(image)
        if flip:
            image = image.flip(-1)
        saliency = self.saliency(image)
        mask = saliency > adaptive_threshold(saliency)
        box = grow(bounding_box(mask), self.margin, *mask.shape)
        patch = self.crop(image - self.mean[:, None, None], box)
        coverage = mask.sum().item() / mask.numel()
        logits = self.classify(patch.flatten(1))
        if coverage < 0.05:
            logits = logits * 0.5
        return logits, torch.tensor([box.top, box.bottom, box.left, box.right]), coverage


def make_inputs(seed):
    generator = torch.Generator().manual_seed(seed)
    image = torch.rand(3, 12, 12, generator=generator)
    if seed % 3 == 1:
        image[:, 3:8, 4:9] *= 4
    if seed % 5 == 2:
        image = torch.full_like(image, 0.5)
    return image, torch.tensor(bool(seed % 2))
