"""One of two heads that a plain function takes from a tuple, scaled by what a module's global says."""

import torch

torch.manual_seed(3)
HEADS = (torch.nn.Linear(3, 3), torch.nn.Linear(3, 3))
SETTINGS = {"scale": 2.0, "calls": 0}


def head(which, x):
    return HEADS[which](x) * SETTINGS["scale"]


class Model(torch.nn.Module):
    def forward(self, x, scores):
        x = x.detach()
        with torch.no_grad():
            # decided from here
            if scores.sum() > 0:
                y = head(0, x)
            else:
                y = head(1, x)
            # to here
        return y


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(4, 3, generator=g), torch.randn(5, generator=g)
