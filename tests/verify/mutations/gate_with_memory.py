"""A gate that opens where it is loud, closes where it is quiet, and stays as it was in between."""

import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.out = torch.nn.Linear(4, 4)
        self.register_buffer("open", torch.tensor(False))

    def forward(self, x):
        level = x.abs().mean()
        # decided from here
        if level > 0.9:
            self.open.fill_(True)
        y = torch.where(self.open, self.out(x), x)
        # to here
        return y * 2


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return (torch.randn(3, 4, generator=g) * [0.1, 2.0][seed % 2],)
