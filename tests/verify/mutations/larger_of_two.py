"""The larger of two numbers as Python's `max` has it: the first, unless the second is larger, whatever is NaN."""

import torch


def fn(pair):
    first, second = pair.detach()
    # decided from here
    if second > first:
        best = second
    else:
        best = first
    # to here
    return best * 2


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return (torch.randn(2, generator=g),)
