"""A speech model in training: random masks over time."""

import torch
from transformers import WhisperConfig, WhisperModel

PACKAGE = "transformers"

torch.manual_seed(0)
cfg = WhisperConfig(
    vocab_size=64,
    d_model=32,
    encoder_layers=1,
    decoder_layers=1,
    encoder_attention_heads=4,
    decoder_attention_heads=4,
    encoder_ffn_dim=32,
    decoder_ffn_dim=32,
    num_mel_bins=8,
    max_source_positions=16,
    max_target_positions=16,
    decoder_start_token_id=1,
    pad_token_id=0,
    bos_token_id=1,
    eos_token_id=2,
    apply_spec_augment=True,
    mask_time_prob=0.3,
    mask_time_length=3,
    dropout=0.0,
)
model = WhisperModel(cfg).train()
eval_mode = False
m = torch.ones(2, 32, dtype=torch.long)
m[1, 20:] = 0
args = ()
kwargs = {
    "input_features": torch.randn(2, 8, 32),
    "attention_mask": m,
    "decoder_input_ids": torch.randint(3, 60, (2, 5)),
    "use_cache": False,
}
