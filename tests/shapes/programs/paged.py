"""Paged attention's metadata: from block tables and lengths to slots, and attention over the gathered pages."""

import torch

BLOCK = 4


class Model(torch.nn.Module):
    def __init__(self, heads=2, width=8):
        super().__init__()
        self.heads, self.width = heads, width
        self.query = torch.nn.Linear(heads * width, heads * width)

    def forward(self, hidden, keys, values, block_tables, lengths):
        batch, _ = hidden.shape
        pages = block_tables.shape[1]
        if pages * BLOCK > 4096:
            raise ValueError("context too long")
        query = self.query(hidden).view(batch, self.heads, 1, self.width)
        context = keys[block_tables].reshape(batch, pages * BLOCK, self.heads, self.width)
        content = values[block_tables].reshape(batch, pages * BLOCK, self.heads, self.width)
        scores = query @ context.permute(0, 2, 3, 1)
        seen = torch.arange(pages * BLOCK, device=hidden.device)[None, :] < lengths[:, None]
        scores = scores.masked_fill(~seen[:, None, None, :], -1e9)
        return (scores.softmax(-1) @ content.permute(0, 2, 1, 3)).reshape(batch, -1)


def make_inputs(seed):
    torch.manual_seed(seed)
    hidden = torch.rand(3, 16)
    keys, values = torch.rand(10, BLOCK, 2, 8), torch.rand(10, BLOCK, 2, 8)
    return hidden, keys, values, torch.randint(0, 5, (3, 5)), torch.randint(1, 20, (3,))
