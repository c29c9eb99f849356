"""An adapter where anything asks for it, else half of the input; under autocast the adapter gives another dtype."""

import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.adapter = torch.nn.Linear(3, 3)
        self.eval()

    def forward(self, x, wanted):
        # decided from here
        if wanted.any():
            y = self.adapter(x)
        else:
            y = x * 0.5
        # to here
        return y


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(4, 3, generator=g), torch.rand(4, generator=g) < [0.0, 0.6][seed % 2]
