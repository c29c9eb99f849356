"""Key points: as many as the image has."""

import torch
from transformers import SuperPointConfig, SuperPointForKeypointDetection

PACKAGE = "transformers"

torch.manual_seed(0)
cfg = SuperPointConfig(
    encoder_hidden_sizes=[8, 8, 16, 16],
    decoder_hidden_size=16,
    keypoint_decoder_dim=65,
    descriptor_decoder_dim=16,
    keypoint_threshold=0.001,
    max_keypoints=20,
    border_removal_distance=2,
)
model = SuperPointForKeypointDetection(cfg).eval()
args = (torch.rand(2, 3, 32, 40),)
kwargs = {}
