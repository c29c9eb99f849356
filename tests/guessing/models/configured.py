from dataclasses import dataclass

import torch
from torch import nn


class TinyConfig:
    def __init__(self, vocab_size=30522, hidden_size=768, num_hidden_layers=12, num_attention_heads=12, **kwargs):
        self.vocab_size = vocab_size
        self.hidden_size = hidden_size
        self.num_hidden_layers = num_hidden_layers
        self.num_attention_heads = num_attention_heads


class TinyModel(nn.Module):
    config_class = TinyConfig

    def __init__(self, config: TinyConfig):
        super().__init__()
        self.embed = nn.Embedding(config.vocab_size, config.hidden_size)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(config.hidden_size, config.num_attention_heads, batch_first=True)
            for _ in range(config.num_hidden_layers)
        )

    def forward(self, input_ids=None, attention_mask=None, inputs_embeds=None, labels=None, return_dict=None):
        if (input_ids is None) == (inputs_embeds is None):
            raise ValueError("You must specify exactly one of input_ids or inputs_embeds")
        x = self.embed(input_ids) if inputs_embeds is None else inputs_embeds
        for layer in self.layers:
            x = layer(x)
        return {"last_hidden_state": x}
