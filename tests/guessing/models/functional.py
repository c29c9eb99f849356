import torch


def _pairwise(a, b):
    return torch.cdist(a, b)


def chamfer(points: torch.Tensor, targets: torch.Tensor, lengths: torch.Tensor, *, squared: bool) -> torch.Tensor:
    """Chamfer distance.

    :param points: tensor of shape (B, N, 3)
    :param targets: tensor of shape (B, M, 3)
    :param lengths: number of points of each, (B,)
    """
    d = _pairwise(points, targets)
    keep = torch.arange(points.shape[1]) < lengths[:, None]
    return d.amin(-1)[keep].mean()
