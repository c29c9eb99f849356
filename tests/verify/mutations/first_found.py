"""The first row that was found, doubled; where none was, the sum of all."""

import torch


def fn(x, found):
    places = found.nonzero().squeeze(1)
    # decided from here
    if places.numel() > 0:
        y = x[places[0]] * 2
    else:
        y = x.sum(0)
    # to here
    return y


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(4, 3, generator=g), torch.rand(4, generator=g) < (0.6 if seed % 2 else 0.1)
