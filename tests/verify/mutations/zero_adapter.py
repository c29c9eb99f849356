"""An adapter that begins as zero is added for the tasks that have one."""

import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.base = torch.nn.Linear(4, 4)
        self.adapter = torch.nn.Linear(4, 4, bias=False)
        torch.nn.init.zeros_(self.adapter.weight)
        self.eval()
        self.requires_grad_(False)

    def forward(self, x, tasks):
        x = x.nan_to_num(0.0, 0.0, 0.0)
        y = self.base(x)
        # decided from here
        if tasks.sum() > 1:
            y = y + self.adapter(x)
        # to here
        return y


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(3, 4, generator=g), torch.randint(0, 3, (2,), generator=g)
