"""The query is damped in place where it is loud, then mixed with the keys; some give one tensor for both."""

import torch


class Model(torch.nn.Module):
    def forward(self, query, key):
        # decided from here
        if query.abs().max() > 2:
            query.mul_(0.5)
            mixed = query + key * 2
        else:
            mixed = query + key
        # to here
        return mixed.cumsum(-1)


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(3, 4, generator=g), torch.randn(3, 4, generator=g)
