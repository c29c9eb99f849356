"""A speech encoder in training: random time masks."""

import torch
from transformers import Wav2Vec2Config, Wav2Vec2Model

PACKAGE = "transformers"

torch.manual_seed(0)
cfg = Wav2Vec2Config(
    hidden_size=32,
    num_hidden_layers=2,
    num_attention_heads=4,
    intermediate_size=32,
    vocab_size=32,
    conv_dim=(16, 16),
    conv_stride=(5, 4),
    conv_kernel=(10, 8),
    num_conv_pos_embeddings=8,
    num_conv_pos_embedding_groups=4,
    num_feat_extract_layers=2,
    mask_time_prob=0.3,
    mask_time_length=2,
)
model = Wav2Vec2Model(cfg).train()
eval_mode = False
m = torch.ones(2, 800, dtype=torch.long)
m[1, 500:] = 0
args = ()
kwargs = {"input_values": torch.randn(2, 800), "attention_mask": m}
