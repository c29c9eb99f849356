"""Now and then a running mean is kept within bounds that it never leaves; and a total is written that nobody reads."""

import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(3))

    def forward(self, x, step):
        self.mean.lerp_(torch.tanh(x.detach()).mean(0), 0.1)
        # decided from here
        if step % 4 == 0:
            self.mean.clamp_(-10, 10)
        # to here
        return x - self.mean


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(5, 3, generator=g), torch.tensor(seed)
