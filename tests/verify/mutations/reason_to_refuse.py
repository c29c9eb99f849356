"""A check gives its reason to a caller, who raises."""

import torch


def reason(x):
    # decided from here
    if not torch.allclose(x, x.t()):
        return "not symmetric"
    # to here
    return ""


def fn(x):
    found = reason(x)
    if found:
        raise ValueError(found)
    return x @ x


def make_inputs(seed):
    x = torch.randn(3, 3, generator=torch.Generator().manual_seed(seed))
    return (x + x.t(),)
