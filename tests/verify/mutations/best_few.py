"""What is above the threshold, the best three of them where there are more; some come with less than three rows."""

import torch


def fn(x, scores):
    keep = scores > 0.2
    # decided from here
    if keep.sum() > 3:
        best = scores.topk(3).indices
        keep = torch.zeros_like(keep)
        keep[best] = True
    # to here
    return (x * keep.unsqueeze(1)).sum(0)


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(7, 3, generator=g), torch.rand(7, generator=g) * [1.0, 0.3][seed % 2]
