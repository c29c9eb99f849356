"""What is left, summed up and raised to a power that is one unless somebody says otherwise."""

import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.power = 1

    def forward(self, x, left):
        rest = x[left]
        # decided from here
        if rest.shape[0] == 0:
            y = x.new_zeros(())
        else:
            y = rest.abs().sum() ** self.power
        # to here
        return y


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(4, generator=g), torch.rand(4, generator=g) > [0.4, 1.0][seed % 2]
