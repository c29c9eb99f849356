"""Boxes above a score, the best of them first, so many at most; none gives an empty answer."""

import torch


def fn(boxes, scores, threshold, most):
    keep = scores > threshold
    if keep.sum() == 0:
        return boxes[:0], scores[:0]
    boxes, scores = boxes[keep], scores[keep]
    size = (boxes[:, 2:] - boxes[:, :2]).clamp(min=0)
    area = size[:, 0] * size[:, 1]
    scores = scores * area.sqrt()
    order = scores.argsort(descending=True)[:most]
    return boxes[order], scores[order]


def make_inputs(seed, scale=1):
    generator = torch.Generator().manual_seed(seed)
    scores = torch.rand(16 * scale, generator=generator)
    return torch.rand(16 * scale, 4, generator=generator), scores if seed % 4 else scores * 0, 0.3, 8 * min(scale, 100)
