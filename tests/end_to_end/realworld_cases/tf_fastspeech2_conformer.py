"""Text to speech: predicted durations decide how long the output is."""

import torch
from transformers import FastSpeech2ConformerConfig, FastSpeech2ConformerModel

PACKAGE = "transformers"

torch.manual_seed(0)
cfg = FastSpeech2ConformerConfig(
    hidden_size=32,
    vocab_size=64,
    num_mel_bins=8,
    encoder_num_attention_heads=4,
    decoder_num_attention_heads=4,
    encoder_layers=1,
    decoder_layers=1,
    encoder_linear_units=32,
    decoder_linear_units=32,
    speech_decoder_postnet_units=16,
    speech_decoder_postnet_layers=2,
    duration_predictor_channels=16,
    energy_predictor_channels=16,
    pitch_predictor_channels=16,
    duration_predictor_kernel_size=3,
)
model = FastSpeech2ConformerModel(cfg).eval()
torch.nn.init.constant_(model.duration_predictor.linear.bias, 1.2)
args = ()
kwargs = {"input_ids": torch.randint(3, 60, (1, 8))}
