"""Where an input is loud, a second term, whose gradients are counted."""

import torch


class Counted(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, trained):
        ctx.trained = trained
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        ctx.trained.add_(1)
        return grad, None


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.main = torch.nn.Linear(4, 4)
        self.register_buffer("trained", torch.zeros(()))

    def forward(self, x):
        y = self.main(x)
        # decided from here
        if x.abs().max() > 2:
            y = y + Counted.apply(y * 0.5, self.trained)
        # to here
        return y


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return (torch.randn(2, 4, generator=g),)
