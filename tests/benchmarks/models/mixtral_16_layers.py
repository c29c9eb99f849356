"""A mixture of experts of 16 layers, each of which loops over the experts that were hit."""

import torch
from transformers import MixtralConfig, MixtralModel

torch.manual_seed(0)
cfg = MixtralConfig(
    vocab_size=64,
    hidden_size=32,
    intermediate_size=32,
    num_hidden_layers=16,
    num_attention_heads=4,
    num_key_value_heads=2,
    max_position_embeddings=64,
    pad_token_id=0,
    bos_token_id=1,
    eos_token_id=2,
    num_local_experts=4,
    experts_implementation="eager",
)

model = MixtralModel(cfg).eval()
args = ()
kwargs = {"input_ids": torch.randint(3, 60, (2, 8)), "use_cache": False}
