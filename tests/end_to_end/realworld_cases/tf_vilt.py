"""A vision and language model whose pixel mask says how large each image is."""

import torch
from transformers import ViltConfig, ViltModel

PACKAGE = "transformers"

torch.manual_seed(0)
cfg = ViltConfig(
    vocab_size=64,
    hidden_size=32,
    num_hidden_layers=1,
    num_attention_heads=4,
    intermediate_size=32,
    image_size=32,
    patch_size=8,
    max_image_length=-1,
    max_position_embeddings=16,
)
model = ViltModel(cfg).eval()
pm = torch.ones(2, 32, 32, dtype=torch.long)
pm[1, :, 24:] = 0
args = ()
kwargs = {
    "input_ids": torch.randint(3, 60, (2, 8)),
    "attention_mask": torch.ones(2, 8, dtype=torch.long),
    "token_type_ids": torch.zeros(2, 8, dtype=torch.long),
    "pixel_values": torch.randn(2, 3, 32, 32),
    "pixel_mask": pm,
}
