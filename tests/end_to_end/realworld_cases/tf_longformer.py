"""Sliding-window attention with a few global tokens."""

import torch
from transformers import LongformerConfig, LongformerModel

PACKAGE = "transformers"

torch.manual_seed(0)
cfg = LongformerConfig(
    vocab_size=64,
    hidden_size=32,
    num_hidden_layers=2,
    num_attention_heads=4,
    intermediate_size=32,
    attention_window=[8, 8],
    max_position_embeddings=128,
)
model = LongformerModel(cfg, add_pooling_layer=False).eval()
g = torch.zeros(2, 16, dtype=torch.long)
g[:, 0] = 1
g[1, 3] = 1
args = ()
kwargs = {
    "input_ids": torch.randint(3, 60, (2, 16)),
    "attention_mask": torch.ones(2, 16, dtype=torch.long),
    "global_attention_mask": g,
}
