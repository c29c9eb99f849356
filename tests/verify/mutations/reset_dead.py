"""Every third step entries that nobody uses are filled anew; for long there are none."""

import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("steps", torch.tensor(0))
        self.register_buffer("usage", torch.full((4,), 9.0))
        self.register_buffer("codes", torch.eye(4)[:, :3].clone())

    def reset_dead(self, x):
        dead = self.usage < 0.01
        if dead.any():
            self.codes.copy_(torch.where(dead[:, None], x.mean(0), self.codes))
            self.usage.masked_fill_(dead, 1.0)

    def forward(self, x, step):
        self.usage.mul_(0.9)
        rows = x.detach()
        # decided from here
        if step % 3 == 0:
            self.reset_dead(rows)
        # to here
        return x @ self.codes.t()


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(5, 3, generator=g), torch.tensor(seed)
