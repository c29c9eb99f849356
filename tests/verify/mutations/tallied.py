"""Clips what is large, and tells an object that is called, a context variable and a function's own attribute."""

import contextvars

import torch


class Tally:
    def __init__(self):
        self.clipped = 0

    def __call__(self):
        self.clipped += 1


TALLY, DEPTH = Tally(), contextvars.ContextVar("depth", default=0)


def note():
    note.times += 1


note.times = 0


def fn(x, bound):
    # decided from here
    if x.abs().max() > bound:
        TALLY()
        DEPTH.set(DEPTH.get() + 1)
        note()
        x = x.clamp(-bound, bound)
    # to here
    return x * 2


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(4, generator=g), 1.5
