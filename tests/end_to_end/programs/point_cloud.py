"""Classification of a point cloud: outliers go, voxels are averaged, centres are sampled, neighbourhoods are pooled."""

import torch
from torch import nn


def remove_outliers(points: torch.Tensor, k: int = 3, ratio: float = 2.0) -> torch.Tensor:
    """Points whose distance to their k nearest neighbours is unusual are dropped."""
    distance = (points[:, None] - points[None]).norm(dim=-1)
    nearest = distance.topk(k + 1, largest=False).values[:, 1:].mean(dim=1)
    threshold = nearest.mean() + ratio * nearest.std()
    inliers = nearest <= threshold
    if inliers.sum() < k + 1:
        return points
    return points[inliers]


def voxelise(points: torch.Tensor, features: torch.Tensor, size: float):
    cells = torch.floor(points / size).long()
    cells = cells - cells.min(dim=0).values
    unique, inverse = torch.unique(cells, dim=0, return_inverse=True)
    n = unique.shape[0]
    count = torch.zeros(n).index_add_(0, inverse, torch.ones(len(inverse)))
    centre = torch.zeros(n, 3).index_add_(0, inverse, points) / count[:, None]
    pooled = torch.zeros(n, features.shape[1]).index_add_(0, inverse, features) / count[:, None]
    return centre, pooled, count


def farthest_points(points: torch.Tensor, number: int) -> torch.Tensor:
    """Indices of points that lie far from each other."""
    chosen = [0]
    distance = torch.full((points.shape[0],), float("inf"))
    for _ in range(number - 1):
        distance = torch.minimum(distance, (points - points[chosen[-1]]).pow(2).sum(-1))
        chosen.append(int(distance.argmax()))
    return torch.tensor(chosen)


def ball_query(points: torch.Tensor, centres: torch.Tensor, radius: float, most: int) -> torch.Tensor:
    """Indices (centres, most) of points within the radius; where fewer are found the first one is repeated."""
    distance = (centres[:, None] - points[None]).norm(dim=-1)
    rows = []
    for row in distance:
        near = torch.nonzero(row <= radius).squeeze(1)[:most]
        if near.numel() < most:
            near = torch.cat([near, near[:1].repeat(most - near.numel())])
        rows.append(near)
    return torch.stack(rows)


class SetAbstraction(nn.Module):
    def __init__(self, inside: int, outside: int, centres: int = 4, radius: float = 1.0):
        super().__init__()
        self.mlp = nn.Sequential(nn.Linear(inside + 3, outside), nn.ReLU(), nn.Linear(outside, outside))
        self.centres = centres
        self.radius = radius

    def forward(self, points, features):
        number = min(self.centres, points.shape[0])
        index = farthest_points(points, number)
        centres = points[index]
        groups = ball_query(points, centres, self.radius, most=5)
        relative = points[groups] - centres[:, None]
        grouped = torch.cat([relative, features[groups]], dim=-1)
        return centres, self.mlp(grouped).amax(dim=1)


class Model(nn.Module):
    def __init__(self, classes: int = 4, width: int = 8):
        super().__init__()
        self.lift = nn.Linear(3, width)
        self.abstraction = SetAbstraction(width + 1, width)
        self.head = nn.Linear(width, classes)

    def normalise(self, points: torch.Tensor) -> torch.Tensor:
        points = points - points.mean(dim=0)
        scale = points.norm(dim=-1).max()
        if scale > 0:
            points = points / scale
        return points

    def forward(self, points: torch.Tensor, valid: torch.Tensor):
        points = points[valid]
        if points.shape[0] < 5:
            raise ValueError(f"at least 5 points, not {points.shape[0]}")
        if not torch.isfinite(points).all():
            points = torch.nan_to_num(points)
        points = remove_outliers(self.normalise(points))
        centre, features, count = voxelise(points, self.lift(points), size=0.4)
        density = count / count.sum()
        centres, pooled = self.abstraction(centre, torch.cat([features, density[:, None]], dim=1))
        logits = self.head(pooled.max(dim=0).values)
        if (confidence := logits.softmax(-1).max()) < 0.3:
            logits = logits * confidence
        return logits, centres.shape[0]


def make_inputs(seed: int):
    generator = torch.Generator().manual_seed(seed)
    points = torch.randn(16, 3, generator=generator)
    if seed % 4 == 1:
        points[3] = 20.0
    if seed % 5 == 3:
        points[7, 0] = float("nan")
    valid = torch.rand(16, generator=generator) < (1.0 if seed % 3 == 0 else 0.8)
    valid[:6] = True
    return points, valid
