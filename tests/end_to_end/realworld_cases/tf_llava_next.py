"""Image features for images of several sizes, given as a tensor."""

import torch
from transformers import LlavaNextConfig, LlavaNextModel

PACKAGE = "transformers"

torch.manual_seed(0)
cfg = LlavaNextConfig(
    text_config={
        "model_type": "llama",
        "hidden_size": 32,
        "vocab_size": 64,
        "intermediate_size": 32,
        "num_hidden_layers": 1,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
    },
    vision_config={
        "model_type": "clip_vision_model",
        "hidden_size": 32,
        "intermediate_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "image_size": 16,
        "patch_size": 8,
        "projection_dim": 32,
    },
    image_grid_pinpoints=[[16, 32], [32, 16], [32, 32]],
    image_token_index=60,
    vision_feature_layer=-1,
)


class Features(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.m = LlavaNextModel(cfg)

    def forward(self, px, sizes):
        return self.m.get_image_features(px, sizes).pooler_output


model = Features().eval()
args = (torch.randn(2, 5, 3, 16, 16), torch.tensor([[30, 30], [28, 32]]))
kwargs = {}
