"""A loss over labelled rows, zero where it is not a number: nothing is learnt from such a batch."""

import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.head = torch.nn.Linear(3, 2)
        self.eval()

    def forward(self, x, label):
        loss = torch.nn.functional.cross_entropy(self.head(x), label)
        # decided from here
        if loss.isnan():
            loss = torch.zeros_like(loss)
        # to here
        return loss + 1


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    label = torch.randint(0, 2, (4,), generator=g)
    return torch.randn(4, 3, generator=g), label if seed % 2 else torch.full((4,), -100)
