"""A sum of what is kept over a prior, which is not saved, and zero until an epoch begins."""

import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("prior", torch.zeros(3), persistent=False)

    def begin_epoch(self, prior):
        self.prior.copy_(prior)

    def forward(self, x, keep):
        rows = x[keep]
        # decided from here
        if rows.shape[0] == 0:
            y = x.new_zeros(3)
        else:
            y = rows.sum(0) + self.prior
        # to here
        return y


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(5, 3, generator=g), torch.rand(5, generator=g) > (0.5 if seed % 2 else 2)
