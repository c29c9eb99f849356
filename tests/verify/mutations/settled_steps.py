"""Whole numbers are halved until they settle; how much may still move is a default of the helper's."""

import torch


def settle(x, tolerance=0.5):
    for _ in range(5):
        new = torch.trunc(x / 2)
        moved = (new - x).abs().max()
        x = new
        # decided from here
        if moved.item() < tolerance:
            break
        # to here
    return x


class Model(torch.nn.Module):
    def forward(self, x):
        return settle(x) + 1


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return (torch.randint(-9, 9, (4,), generator=g).float() * (seed % 3 > 0),)
