"""A sum of large integers, halved while it is odd to none."""

import torch


def fn(ids):
    total = ids.sum()
    # decided from here
    if total > 4_000_000_000:
        total = total - 3
    # to here
    return total, ids.max()


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return (torch.randint(2**52, 2**53, (4,), generator=g) if seed % 2 else torch.randint(0, 9, (4,), generator=g),)
