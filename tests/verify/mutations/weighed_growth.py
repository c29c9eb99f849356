"""A dict of growths, each with its share; one without a share is not computed."""

import torch

GROWTHS = {"slow": torch.tanh, "fast": lambda x: torch.exp(x * 3)}


def fn(x, shares):
    x, shares = x.detach(), shares.detach()
    y = torch.zeros_like(x)
    for grow, share in zip(GROWTHS.values(), shares):
        # decided from here
        if share > 0:
            y = y + share * grow(x)
        # to here
    return y


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(4, generator=g), torch.randn(2, generator=g).clamp(min=0)
