"""A loss scale: halved on overflow, doubled after many good steps in a row, which no declared input comes to."""

import torch


class Model(torch.nn.Module):
    def __init__(self, interval=2000):
        super().__init__()
        self.interval = interval
        self.register_buffer("scale", torch.tensor(16.0))
        self.register_buffer("good", torch.zeros((), dtype=torch.long))

    def forward(self, grad):
        found = ~torch.isfinite(grad).all()
        # decided from here
        if found:
            self.scale.mul_(0.5)
            self.good.zero_()
        else:
            self.good += 1
            if self.good >= self.interval:
                self.scale.mul_(2)
                self.good.zero_()
        # to here
        return torch.nan_to_num(grad / self.scale)


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    grad = torch.randn(4, generator=g)
    grad[0] = [1.0, float("inf"), 2.0][seed % 3]
    return (grad,)
