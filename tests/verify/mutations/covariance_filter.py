"""A covariance that is made symmetric on each fourth call, against what rounding makes of it."""

import torch


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("cov", torch.eye(4))
        self.register_buffer("scans", torch.zeros((), dtype=torch.long))

    def forward(self, x):
        cov = self.cov + x[:, None] * x[None, :]
        self.scans += 1
        # decided from here
        if self.scans.item() % 4 == 0:
            cov = 0.5 * (cov + cov.transpose(-1, -2))
        # to here
        self.cov.copy_(cov)
        return x @ cov


def make_inputs(seed):
    return (torch.randn(4, generator=torch.Generator().manual_seed(seed)),)
