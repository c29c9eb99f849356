"""Sampling from a little language model: temperature, top-k, top-p, a repetition penalty, and a stop token."""

from dataclasses import dataclass
from typing import Optional

import torch
from torch import Tensor, nn
from torch.nn import functional as F


@dataclass
class SamplingConfig:
    max_new_tokens: int = 5
    temperature: float = 0.8
    top_k: int = 6
    top_p: float = 0.9
    repetition_penalty: float = 1.2
    eos: int = 1
    pad: int = 0


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))
        self.norm1 = nn.LayerNorm(width)
        self.norm2 = nn.LayerNorm(width)

    def forward(self, x, padding):
        q, k, v = self.qkv(self.norm1(x)).chunk(3, dim=-1)
        scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
        causal = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).tril()
        scores = scores.masked_fill(~causal, -1e9)
        if padding is not None:
            scores = scores.masked_fill(padding[:, None, :], -1e9)
        x = x + self.out(scores.softmax(-1) @ v)
        return x + self.mlp(self.norm2(x))


class LanguageModel(nn.Module):
    def __init__(self, vocabulary=12, width=8, positions=16):
        super().__init__()
        self.token = nn.Embedding(vocabulary, width)
        self.position = nn.Embedding(positions, width)
        self.blocks = nn.ModuleList(Block(width) for _ in range(2))
        self.head = nn.Linear(width, vocabulary)

    def forward(self, ids, padding=None):
        x = self.token(ids) + self.position(torch.arange(ids.shape[1], device=ids.device))
        for block in self.blocks:
            x = block(x, padding)
        return self.head(x)


def penalise(logits: Tensor, ids: Tensor, penalty: float) -> Tensor:
    score = logits.gather(1, ids)
    score = torch.where(score < 0, score * penalty, score / penalty)
    return logits.scatter(1, ids, score)


def filter_logits(logits: Tensor, top_k: int, top_p: float) -> Tensor:
    if top_k > 0:
        worst = logits.topk(min(top_k, logits.size(-1))).values[:, -1:]
        logits = logits.masked_fill(logits < worst, float("-inf"))
    if top_p < 1.0:
        ordered, index = logits.sort(descending=True)
        cumulative = ordered.softmax(-1).cumsum(-1)
        remove = cumulative > top_p
        remove[:, 1:] = remove[:, :-1].clone()
        remove[:, 0] = False
        if remove.any():
            logits = logits.masked_fill(remove.scatter(1, index, remove), float("-inf"))
    return logits


class Model(nn.Module):
    """`forward` generates; noise is given, so that a run can be repeated."""

    def __init__(self, config: Optional[SamplingConfig] = None):
        super().__init__()
        self.config = config or SamplingConfig()
        self.lm = LanguageModel()

    def pick(self, logits: Tensor, temperature: Tensor, noise: Tensor) -> Tensor:
        if temperature.item() == 0:
            return logits.argmax(-1)
        logits = filter_logits(logits / temperature, self.config.top_k, self.config.top_p)
        gumbel = -torch.log(-torch.log(noise.clamp(1e-6, 1 - 1e-6)))
        return (logits + gumbel).argmax(-1)

    def forward(self, prompt: Tensor, temperature: Tensor, noise: Tensor):
        cfg = self.config
        if (prompt < 0).any() or (prompt >= self.lm.token.num_embeddings).any():
            raise IndexError("token out of range")
        padding = prompt == cfg.pad
        if not padding.any():
            padding = None
        ids = prompt
        finished = torch.zeros(prompt.shape[0], dtype=torch.bool, device=prompt.device)
        for step in range(cfg.max_new_tokens):
            logits = self.lm(ids, padding)[:, -1]
            logits = penalise(logits, ids, cfg.repetition_penalty)
            token = self.pick(logits, temperature, noise[step])
            token = torch.where(finished, torch.full_like(token, cfg.pad), token)
            ids = torch.cat([ids, token[:, None]], dim=1)
            if padding is not None:
                padding = F.pad(padding, (0, 1), value=False)
            finished = finished | (token == cfg.eos)
            if finished.all():
                break
        lengths = (ids != cfg.pad).sum(-1)
        return ids, lengths


def make_inputs(seed):
    generator = torch.Generator().manual_seed(seed)
    prompt = torch.randint(2, 12, (2, 4), generator=generator)
    if seed % 2:
        prompt[0, 0] = 0
    temperature = torch.tensor([0.0, 0.7, 1.5][seed % 3])
    noise = torch.rand(5, 2, 12, generator=generator)
    if seed % 5 == 2:
        noise[:, :, 1] = 1.0
    return prompt, temperature, noise
