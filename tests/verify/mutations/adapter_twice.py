"""An adapter, and twice of it where anything asks for it: under autocast in bfloat16, on both sides."""

import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.adapter = torch.nn.Linear(3, 3)
        self.eval()

    def forward(self, x, wanted):
        y = self.adapter(x)
        # decided from here
        if wanted.any():
            y = y * 2
        # to here
        return y


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(4, 3, generator=g), torch.rand(4, generator=g) < [0.0, 0.6][seed % 2]
