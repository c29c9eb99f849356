"""A row of a bank that data chooses; a chain that nobody runs takes the rows from a text."""

import torch


class Bank(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.table = torch.nn.Parameter(torch.arange(36.0).reshape(9, 4))

    def forward(self, x, row):
        # decided from here
        y = self.table[int(row)]
        # to here
        return x + y


class Chain(torch.nn.Module):
    def __init__(self, spec="1,4,7"):
        super().__init__()
        self.bank, self.rows = Bank(), spec.split(",")

    def forward(self, x):
        for row in self.rows:
            x = self.bank(x, row)
        return x


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.bank = Bank()

    def forward(self, x):
        return self.bank(x, x.sum(0).argmax())


def make_inputs(seed):
    return (torch.randn(5, 4, generator=torch.Generator().manual_seed(seed)),)
