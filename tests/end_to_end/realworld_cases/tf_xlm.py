"""A language model with explicit lengths; plain export takes it as it is."""

import torch
from transformers import XLMConfig, XLMModel

PACKAGE = "transformers"

torch.manual_seed(0)
cfg = XLMConfig(vocab_size=64, emb_dim=32, n_layers=2, n_heads=4, max_position_embeddings=64)
model = XLMModel(cfg).eval()
args = ()
kwargs = {"input_ids": torch.randint(3, 60, (2, 8)), "lengths": torch.tensor([8, 5])}
