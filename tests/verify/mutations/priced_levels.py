"""What is positive on all levels, and a price for each level but the first: there is one level."""

import torch


class Model(torch.nn.Module):
    def forward(self, levels: list[torch.Tensor]):
        flat = torch.cat([level.flatten() for level in levels])
        found = flat[flat > 0]
        # decided from here
        if found.shape[0] == 0:
            y = flat.new_zeros(())
        else:
            y = found.sum() + 0.5 * (len(levels) - 1)
        # to here
        return y


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return ([torch.randn(3, 4, generator=g) - (0 if seed % 2 else 9)],)
