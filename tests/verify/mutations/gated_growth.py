"""What grows without bounds is added where its gate is open; the first input has it open."""

import torch


class Model(torch.nn.Module):
    def forward(self, x, gate):
        gate = gate.detach()
        # decided from here
        if gate > 0:
            y = x + gate * torch.exp(x * 3)
        else:
            y = x * 1.0
        # to here
        return y


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(4, 3, generator=g), torch.tensor(0.5 if seed % 3 == 0 else 0.0)
