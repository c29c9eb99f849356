"""A vision tower over packed images of several sizes."""

import torch
from transformers.models.qwen2_vl.configuration_qwen2_vl import Qwen2VLVisionConfig
from transformers.models.qwen2_vl.modeling_qwen2_vl import Qwen2VisionTransformerPretrainedModel

PACKAGE = "transformers"

torch.manual_seed(0)
cfg = Qwen2VLVisionConfig(
    depth=2,
    embed_dim=32,
    hidden_size=32,
    num_heads=4,
    mlp_ratio=2,
    patch_size=4,
    temporal_patch_size=2,
    spatial_merge_size=2,
    in_channels=3,
)
model = Qwen2VisionTransformerPretrainedModel(cfg).eval()
thw = torch.tensor([[1, 4, 4], [1, 4, 8]])
args = (torch.randn(48, 3 * 2 * 4 * 4), thw)
kwargs = {}
