"""An encoder and decoder with switch layers."""

import torch
from transformers import SwitchTransformersConfig, SwitchTransformersModel

PACKAGE = "transformers"

torch.manual_seed(0)
cfg = SwitchTransformersConfig(
    vocab_size=64,
    d_model=32,
    d_kv=8,
    d_ff=32,
    num_layers=2,
    num_decoder_layers=2,
    num_heads=4,
    num_experts=4,
    num_sparse_encoder_layers=1,
    num_sparse_decoder_layers=1,
    expert_capacity=8,
    decoder_start_token_id=0,
)
model = SwitchTransformersModel(cfg).eval()
args = ()
kwargs = {
    "input_ids": torch.randint(3, 60, (2, 8)),
    "attention_mask": torch.ones(2, 8, dtype=torch.long),
    "decoder_input_ids": torch.randint(3, 60, (2, 5)),
    "decoder_attention_mask": torch.ones(2, 5, dtype=torch.long),
    "use_cache": False,
}
