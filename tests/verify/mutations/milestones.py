"""A decay that is halved at milestones of the step that is handed over; the steps here come to none."""

import torch


class Model(torch.nn.Module):
    def __init__(self, milestones=(100, 200)):
        super().__init__()
        self.milestones = milestones
        self.register_buffer("decay", torch.tensor(0.5))

    def forward(self, x, step):
        # decided from here
        if step.item() in self.milestones:
            self.decay.mul_(0.5)
        # to here
        return x * self.decay


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(2, 4, generator=g), torch.tensor(seed % 20)
