"""Hardly ever drops anything; beside it, functions whose gradient runs them once more."""

import torch
import torch.nn.functional as F


def dropped(x):
    return F.dropout(x, 1e-5, training=True)


class Again(torch.autograd.Function):
    """What is dropped is drawn anew in the backward pass."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return dropped(x)

    @staticmethod
    def backward(ctx, gradient):
        with torch.enable_grad():
            x = ctx.saved_tensors[0].detach().requires_grad_()
            return torch.autograd.grad(dropped(x), x, gradient)


class FromThere(torch.autograd.Function):
    """The same, drawn from where the generator was, which is put back after."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x, torch.get_rng_state())
        return dropped(x)

    @staticmethod
    def backward(ctx, gradient):
        x, state = ctx.saved_tensors
        with torch.enable_grad(), torch.random.fork_rng(devices=[]):
            torch.set_rng_state(state)
            x = x.detach().requires_grad_()
            return torch.autograd.grad(dropped(x), x, gradient)


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 3)

    def forward(self, x):
        h = self.layer(x)
        # decided from here
        if x.sum() > 0:
            y = dropped(h) * 2
        else:
            y = dropped(h)
        # to here
        return y


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return (torch.randn(4, 3, generator=g),)
