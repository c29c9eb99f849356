"""A sum of what is kept, and an offset that is a field of an object, zero unless somebody says otherwise."""

import dataclasses

import torch


@dataclasses.dataclass
class Options:
    offset: float = 0.0


torch.export.register_dataclass(Options)


class Model(torch.nn.Module):
    def forward(self, x, keep, options: Options):
        rows = x[keep]
        # decided from here
        if rows.shape[0] == 0:
            y = x.new_zeros(3)
        else:
            y = rows.sum(0) + options.offset
        # to here
        return y


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(5, 3, generator=g), torch.rand(5, generator=g) > (0.5 if seed % 2 else 2), Options()
