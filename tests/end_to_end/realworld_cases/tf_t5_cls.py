"""Classification from the hidden state at the end-of-sequence token; plain export takes it as it is."""

import torch
from transformers import T5Config, T5ForSequenceClassification

PACKAGE = "transformers"

torch.manual_seed(0)
cfg = T5Config(
    vocab_size=64,
    d_model=32,
    d_kv=8,
    d_ff=32,
    num_layers=1,
    num_heads=4,
    pad_token_id=0,
    eos_token_id=1,
    decoder_start_token_id=0,
    use_cache=False,
)
model = T5ForSequenceClassification(cfg).eval()
model.transformer.config.use_cache = False
model.transformer.decoder.config.use_cache = False
ids = torch.randint(3, 60, (2, 8))
ids[:, -1] = 1
args = ()
kwargs = {"input_ids": ids, "attention_mask": torch.ones(2, 8, dtype=torch.long), "use_cache": False}
