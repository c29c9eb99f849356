"""Outliers are pulled in where a series spreads: most of a constant one has no spread, an outlier in it or not."""

import torch


class Model(torch.nn.Module):
    def forward(self, x):
        x = x.detach()
        middle = x.median()
        spread = (x - middle).abs().median()
        # decided from here
        y = x
        if spread.item() >= 1e-8:
            z = (x - middle) / spread
            y = torch.where(z.abs() > 3, middle + 3 * z.sign() * spread, x)
        # to here
        return y


def make_inputs(seed):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(9, generator=generator)
    return (torch.ones(9) if seed % 5 == 3 else x,)
