"""Tokens handed to experts one after the other."""

import torch
from transformers import NllbMoeConfig
from transformers.models.nllb_moe.modeling_nllb_moe import NllbMoeSparseMLP

PACKAGE = "transformers"

torch.manual_seed(0)

configuration = NllbMoeConfig(
    vocab_size=64,
    d_model=32,
    encoder_ffn_dim=32,
    decoder_ffn_dim=32,
    num_experts=4,
    expert_capacity=8,
)
model = NllbMoeSparseMLP(configuration, ffn_dim=32).eval()
args = (torch.randn(2, 8, 32),)
kwargs = {}
