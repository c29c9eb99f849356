"""Nine lines with three questions: how long a first check of a small program takes."""

import torch


def fn(x):
    hit = x[x > 0]
    n = len(hit)
    if n == 0:
        return x.sum()
    return hit.sum() / int(n)


def make_inputs(seed):
    torch.manual_seed(seed)
    return (torch.randn(16),)
