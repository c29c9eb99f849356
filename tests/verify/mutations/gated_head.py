"""A head whose gate is closed on some inputs: what is not computed has no gradient, whatever the features hold."""

import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.head = torch.nn.Linear(3, 3)
        self.eval()

    def forward(self, x, gate):
        y = x * 0.5
        # decided from here
        if gate.any():
            y = y + self.head(x)
        # to here
        return y


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(4, 3, generator=g), torch.rand(4, generator=g) < [0.0, 0.6][seed % 2]
