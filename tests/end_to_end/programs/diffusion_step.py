"""One reverse step of a diffusion model with guidance, dynamic thresholding and inpainting."""

import math
from enum import Enum
from typing import Optional

import torch
from torch import nn


class Prediction(Enum):
    NOISE = "noise"
    VELOCITY = "velocity"


def time_embedding(t: torch.Tensor, width: int) -> torch.Tensor:
    half = width // 2
    frequency = torch.exp(-math.log(10000.0) * torch.arange(half, dtype=torch.float32) / half)
    angles = t.float()[:, None] * frequency[None]
    return torch.cat([angles.sin(), angles.cos()], dim=-1)


class ResBlock(nn.Module):
    def __init__(self, channels, time):
        super().__init__()
        self.norm = nn.GroupNorm(2, channels)
        self.conv = nn.Conv2d(channels, channels, 3, padding=1)
        self.time = nn.Linear(time, channels)

    def forward(self, x, emb):
        h = self.conv(torch.relu(self.norm(x)))
        return x + h + self.time(emb)[:, :, None, None]


class UNet(nn.Module):
    def __init__(self, channels=4, time=8, classes=3):
        super().__init__()
        self.width = time
        self.inside = nn.Conv2d(1, channels, 3, padding=1)
        self.blocks = nn.ModuleList([ResBlock(channels, time) for _ in range(2)])
        self.outside = nn.Conv2d(channels, 1, 3, padding=1)
        self.label = nn.Embedding(classes + 1, time)

    def forward(self, x, t, label: Optional[torch.Tensor] = None):
        emb = time_embedding(t, self.width)
        if label is not None:
            emb = emb + self.label(label)
        h = self.inside(x)
        for block in self.blocks:
            h = block(h, emb)
        return self.outside(h)


class Model(nn.Module):
    def __init__(self, steps=10, prediction="noise", classes=3):
        super().__init__()
        self.unet = UNet(classes=classes)
        self.null_label = classes
        self.prediction = Prediction(prediction)
        betas = torch.linspace(1e-3, 0.2, steps)
        self.register_buffer("alphas_bar", torch.cumprod(1 - betas, dim=0))
        self.register_buffer("betas", betas)
        self.percentile = 0.95

    def predict_start(self, x, t, label, guidance):
        out = self.unet(x, t, label)
        if guidance > 1.0:
            empty = torch.full_like(label, self.null_label)
            plain = self.unet(x, t, empty)
            out = plain + guidance * (out - plain)
        alpha = self.alphas_bar[t][:, None, None, None]
        match self.prediction:
            case Prediction.NOISE:
                return (x - (1 - alpha).sqrt() * out) / alpha.sqrt()
            case Prediction.VELOCITY:
                return alpha.sqrt() * x - (1 - alpha).sqrt() * out

    def threshold(self, start):
        limit = torch.quantile(start.abs().flatten(1), self.percentile, dim=1)
        if limit.max() <= 1.0:
            return start.clamp(-1, 1)
        limit = limit.clamp(min=1.0)[:, None, None, None]
        return start.clamp(-limit, limit) / limit

    def posterior(self, start, x, t):
        alpha = self.alphas_bar[t][:, None, None, None]
        before = self.alphas_bar[(t - 1).clamp(min=0)][:, None, None, None]
        before = torch.where((t == 0)[:, None, None, None], torch.ones_like(before), before)
        beta = self.betas[t][:, None, None, None]
        mean = before.sqrt() * beta / (1 - alpha) * start + (1 - beta).sqrt() * (1 - before) / (1 - alpha) * x
        return mean, beta * (1 - before) / (1 - alpha)

    def forward(self, x, step, label, guidance, noise, known=None, mask=None):
        steps = len(self.betas)
        if not 0 <= step.item() < steps:
            raise ValueError(f"step must lie in 0..{steps - 1}")
        if (label > self.null_label).any():
            raise ValueError("no such class")
        t = torch.full((x.shape[0],), step.item(), dtype=torch.long)
        start = self.threshold(self.predict_start(x, t, label, guidance))
        mean, variance = self.posterior(start, x, t)
        sample = mean + variance.sqrt() * noise if step > 0 else mean
        if mask is not None and mask.any():
            target = known
            if step > 0:
                alpha = self.alphas_bar[step - 1]
                target = alpha.sqrt() * known + (1 - alpha).sqrt() * noise
            sample = torch.where(mask, target, sample)
        if not torch.isfinite(sample).all():
            sample = torch.nan_to_num(sample, nan=0.0, posinf=1.0, neginf=-1.0)
        return sample, start


def make_inputs(seed):
    generator = torch.Generator().manual_seed(seed)
    x, noise, known = torch.randn(3, 2, 1, 6, 6, generator=generator)
    step = torch.tensor([4, 0, 9][seed % 3])
    guidance = torch.tensor([1.0, 3.0][seed % 2])
    label = torch.randint(0, 4, (2,), generator=generator)
    mask = torch.rand(2, 1, 6, 6, generator=generator) < (0.5 if seed % 4 < 2 else 0.0)
    return x * (1 + seed % 3), step, label, guidance, noise, known, mask
