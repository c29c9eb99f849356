"""Image features without the padding images; plain export takes it as it is."""

import torch
from transformers import Idefics3Config, Idefics3Model

PACKAGE = "transformers"

torch.manual_seed(0)
cfg = Idefics3Config(
    text_config={
        "model_type": "llama",
        "hidden_size": 32,
        "vocab_size": 64,
        "intermediate_size": 32,
        "num_hidden_layers": 1,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "pad_token_id": 0,
    },
    vision_config={
        "hidden_size": 32,
        "intermediate_size": 32,
        "num_hidden_layers": 1,
        "num_attention_heads": 4,
        "image_size": 32,
        "patch_size": 8,
    },
    scale_factor=2,
    image_token_id=60,
)


class Features(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.m = Idefics3Model(cfg)

    def forward(self, px, pm):
        return self.m.get_image_features(px, pm).pooler_output


model = Features().eval()
px = torch.randn(2, 2, 3, 32, 32)
px[1, 1] = 0
args = (px, torch.ones(2, 2, 32, 32, dtype=torch.long))
kwargs = {}
