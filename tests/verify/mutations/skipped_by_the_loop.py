"""Numbers that are too large raise, and whoever goes through batches leaves these out."""

import torch


class Model(torch.nn.Module):
    def forward(self, x):
        # decided from here
        if x.max() > 3:
            raise ValueError("too large")
        # to here
        return x * 2


def run(model: Model, batches):
    for batch in batches:
        try:
            yield model(batch)
        except ValueError:
            continue


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return (torch.randn(5, generator=g) + (4 if seed % 4 == 3 else 0),)
