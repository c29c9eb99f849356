"""Generation that stops at an end token."""

import torch
from x_transformers import AutoregressiveWrapper, Decoder, TransformerWrapper

PACKAGE = "x_transformers"

torch.manual_seed(0)
m = AutoregressiveWrapper(
    TransformerWrapper(num_tokens=32, max_seq_len=32, attn_layers=Decoder(dim=16, depth=1, heads=2))
)


class Generating(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.m = m

    def forward(self, p):
        return self.m.generate(p, 4, eos_token=0, temperature=0.0, cache_kv=False)


model = Generating().eval()
args = (torch.randint(1, 32, (2, 4)),)
kwargs = {}
