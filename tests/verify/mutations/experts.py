"""Adds what each expert makes of the rows routed to it; experts without rows are skipped."""

import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.experts = torch.nn.ModuleList(torch.nn.Linear(3, 3) for _ in range(3))

    def forward(self, x, route):
        out = torch.zeros_like(x)
        for number, expert in enumerate(self.experts):
            rows = (route == number).nonzero().squeeze(1)
            # decided from here
            if rows.numel() > 0:
                out.index_add_(0, rows, expert(x[rows]))
            # to here
        return out


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(5, 3, generator=g), torch.randint(0, 3, (5,), generator=g)
