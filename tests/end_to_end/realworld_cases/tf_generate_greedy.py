"""Greedy generation until the end-of-sequence token."""

import torch
from transformers import GPT2Config, GPT2LMHeadModel

PACKAGE = "transformers"

torch.manual_seed(0)
cfg = GPT2Config(
    vocab_size=64, n_positions=64, n_embd=32, n_layer=1, n_head=4, pad_token_id=0, eos_token_id=2, bos_token_id=1
)


class Generating(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.m = GPT2LMHeadModel(cfg)

    def forward(self, ids, mask):
        return self.m.generate(input_ids=ids, attention_mask=mask, max_new_tokens=4, do_sample=False)


model = Generating().eval()
args = (torch.randint(3, 60, (2, 5)), torch.ones(2, 5, dtype=torch.long))
kwargs = {}
