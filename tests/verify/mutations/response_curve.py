"""A response that is looked up by a tensor in the program, and by plain levels in a report that nobody runs."""

import torch


class Curve:
    def __init__(self, knee):
        self.knee = knee

    def __getitem__(self, level):
        # decided from here
        if level > self.knee:
            y = self.knee + (level - self.knee) * 0.5
        else:
            y = level * 1.0
        # to here
        return y


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.curve = Curve(0.3)

    def forward(self, x):
        return x * self.curve[x.abs().mean()]

    def report(self):
        return [self.curve[step / 10] for step in range(11)]


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return (torch.randn(3, 4, generator=g) * 0.4,)
