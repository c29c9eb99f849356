"""A method that bounds a number: the model gives it a tensor, what else the class does a number."""

import torch


class Model(torch.nn.Module):
    def cap(self, n, most=5):
        # decided from here
        if n > most:
            n = n * 0 + most
        # to here
        return n

    def describe(self):
        return f"{self.cap(12)} rows at most"

    def forward(self, x, count):
        return x * self.cap(count)


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(4, 3, generator=g), torch.tensor(seed % 9)
