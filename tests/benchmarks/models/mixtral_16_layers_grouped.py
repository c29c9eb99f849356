"""The same mixture of experts with its experts as grouped products, transformers' default: nothing asks, one path."""

from mixtral_16_layers import args, cfg, kwargs
from transformers import MixtralConfig, MixtralModel

__all__ = ["args", "kwargs", "model"]

model = MixtralModel(MixtralConfig(**cfg.to_dict(), experts_implementation="grouped_mm")).eval()
