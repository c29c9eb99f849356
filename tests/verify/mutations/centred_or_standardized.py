"""What is kept of the rewards is standardized; a single one is left as it is, and so is nothing."""

import torch


class Model(torch.nn.Module):
    def forward(self, reward, done):
        kept = reward[~done]
        # decided from here
        if kept.shape[0] > 1:
            kept = (kept - kept.mean()) / (kept.std() + 1e-6)
        # to here
        return kept.nan_to_num().cumsum(0)


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(5, generator=g), torch.rand(5, generator=g) > (0.2 if seed % 2 else 0.6)
