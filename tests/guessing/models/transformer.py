import torch
from torch import Tensor, nn
import torch.nn.functional as F


class Block(nn.Module):
    def __init__(self, d_model: int, num_heads: int, dropout: float = 0.0):
        super().__init__()
        self.num_heads = num_heads
        self.norm = nn.LayerNorm(d_model)
        self.qkv = nn.Linear(d_model, 3 * d_model)
        self.out = nn.Linear(d_model, d_model)

    def forward(self, hidden: Tensor, key_padding_mask: Tensor) -> Tensor:
        """Attend.

        Args:
            hidden: (B, T, d_model)
            key_padding_mask: (B, T), True where there is a token
        """
        b, t, c = hidden.shape
        q, k, v = (x.view(b, t, self.num_heads, -1).transpose(1, 2) for x in self.qkv(self.norm(hidden)).chunk(3, -1))
        scores = (q @ k.transpose(-1, -2)).masked_fill(~key_padding_mask[:, None, None], float("-inf"))
        out = (scores.softmax(-1) @ v).transpose(1, 2).reshape(b, t, c)
        if key_padding_mask.sum() == 0:
            return hidden
        return hidden + self.out(out)
