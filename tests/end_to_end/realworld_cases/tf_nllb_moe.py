"""A translation model with experts in every second layer."""

import torch
from transformers import NllbMoeConfig, NllbMoeModel

PACKAGE = "transformers"

torch.manual_seed(0)
cfg = NllbMoeConfig(
    vocab_size=64,
    d_model=32,
    encoder_layers=2,
    decoder_layers=2,
    encoder_attention_heads=4,
    decoder_attention_heads=4,
    encoder_ffn_dim=32,
    decoder_ffn_dim=32,
    num_experts=4,
    encoder_sparse_step=2,
    decoder_sparse_step=2,
    max_position_embeddings=64,
    expert_capacity=8,
)
model = NllbMoeModel(cfg).eval()
args = ()
kwargs = {
    "input_ids": torch.randint(3, 60, (2, 8)),
    "decoder_input_ids": torch.randint(3, 60, (2, 5)),
    "use_cache": False,
}
