"""Large ids are hashed before the table is asked; a bound that is a float is compared in single precision by torch."""

import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.table = torch.nn.Embedding(7, 4)

    def forward(self, ids):
        # decided from here
        if ids.max().item() > 1e9:
            ids = ids % 1_000_003
        # to here
        return self.table(ids % 7)


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return (torch.randint(0, 1000 if seed % 2 else 3 * 10**9, (6,), generator=g),)
