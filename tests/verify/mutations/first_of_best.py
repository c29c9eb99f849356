"""The best four where there are more, else all in their order; what comes later looks at the first alone."""

import torch


def fn(x, keep):
    kept = x[keep]
    names = torch.arange(x.shape[0])[keep]
    # decided from here
    if kept.shape[0] > 4:
        kept, order = kept.topk(4)
        names = names[order]
    # to here
    return kept.sum(), names.sum()


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(8, generator=g), torch.arange(8) < 3 + seed % 4
