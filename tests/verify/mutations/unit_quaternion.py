"""An attitude that is turned on each call, and brought back to length one on each eighth."""

import torch


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("attitude", torch.tensor([1.0, 0.0, 0.0, 0.0]))
        self.register_buffer("turns", torch.zeros((), dtype=torch.long))

    def forward(self, angle):
        c, s = torch.cos(angle / 2), torch.sin(angle / 2)
        w, x, y, z = self.attitude
        attitude = torch.stack([w * c - z * s, x * c + y * s, y * c - x * s, z * c + w * s])
        self.turns += 1
        # decided from here
        if (self.turns % 8 == 0).item():
            attitude = attitude / attitude.norm()
        # to here
        self.attitude.copy_(attitude)
        return attitude


def make_inputs(seed):
    return (3 * torch.rand((), generator=torch.Generator().manual_seed(seed)),)
