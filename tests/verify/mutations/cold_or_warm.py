"""Cold logits are sharpened, warm ones divided; 0.7 in single precision is less than Python's."""

import torch


class Model(torch.nn.Module):
    def forward(self, logits, temperature):
        # decided from here
        if temperature.item() < 0.7:
            logits = logits * 2
        else:
            logits = logits / 2
        # to here
        return logits.cumsum(-1)


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(3, 4, generator=g), torch.rand((), generator=g) + 0.2
