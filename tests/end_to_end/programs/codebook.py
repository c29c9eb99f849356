"""A vector-quantised autoencoder: a codebook with moving averages that is initialised on first use."""

import torch
import torch.nn.functional as F
from torch import nn


def kmeans(samples: torch.Tensor, clusters: int, iterations: int = 3) -> torch.Tensor:
    means = samples[:clusters].clone()
    for _ in range(iterations):
        distance = (samples.unsqueeze(1) - means.unsqueeze(0)).pow(2).sum(-1)
        nearest = distance.argmin(dim=-1)
        for k in range(clusters):
            members = samples[nearest == k]
            if len(members) == 0:
                continue
            means[k] = members.mean(dim=0)
    return means


class Codebook(nn.Module):
    def __init__(self, codes: int, dim: int, decay: float = 0.9, threshold: float = 0.5):
        super().__init__()
        self.codes = codes
        self.decay = decay
        self.threshold = threshold
        self.register_buffer("initted", torch.tensor(False))
        self.register_buffer("embed", torch.randn(codes, dim))
        self.register_buffer("cluster_size", torch.ones(codes))
        self.register_buffer("embed_avg", self.embed.clone())

    @torch.no_grad()
    def init_embed_(self, flat: torch.Tensor) -> None:
        if self.initted:
            return
        embed = kmeans(flat, self.codes)
        self.embed.copy_(embed)
        self.embed_avg.copy_(embed)
        self.initted.fill_(True)

    @torch.no_grad()
    def expire_codes_(self, flat: torch.Tensor) -> None:
        dead = self.cluster_size < self.threshold
        if not dead.any():
            return
        order = torch.arange(self.codes) % flat.shape[0]
        replacement = flat[order]
        self.embed.copy_(torch.where(dead.unsqueeze(-1), replacement, self.embed))
        self.cluster_size[dead] = 1.0

    @torch.no_grad()
    def update_(self, flat: torch.Tensor, index: torch.Tensor) -> None:
        onehot = F.one_hot(index, self.codes).to(flat.dtype)
        self.cluster_size.mul_(self.decay).add_(onehot.sum(0), alpha=1 - self.decay)
        self.embed_avg.mul_(self.decay).add_(onehot.T @ flat, alpha=1 - self.decay)
        total = self.cluster_size.sum()
        smoothed = (self.cluster_size + 1e-5) / (total + self.codes * 1e-5) * total
        self.embed.copy_(self.embed_avg / smoothed.unsqueeze(-1))

    def forward(self, x: torch.Tensor):
        flat = x.reshape(-1, x.shape[-1])
        if self.training:
            self.init_embed_(flat.detach())
        distance = torch.cdist(flat, self.embed)
        index = distance.argmin(dim=-1)
        quantized = self.embed[index].view_as(x)
        if self.training:
            self.update_(flat.detach(), index)
            self.expire_codes_(flat.detach())
        return quantized, index.view(x.shape[:-1])


class Model(nn.Module):
    def __init__(self, inside: int = 6, dim: int = 4, codes: int = 5):
        super().__init__()
        self.encode = nn.Sequential(nn.Linear(inside, 8), nn.ReLU(), nn.Linear(8, dim))
        self.decode = nn.Linear(dim, inside)
        self.codebook = Codebook(codes, dim)
        self.commitment = 0.25

    def perplexity(self, index: torch.Tensor) -> torch.Tensor:
        counts = torch.bincount(index.flatten(), minlength=self.codebook.codes)
        used = counts[counts > 0].float()
        share = used / used.sum()
        return torch.exp(-(share * share.log()).sum())

    def forward(self, x: torch.Tensor, mask: torch.Tensor):
        if mask.any():
            x = x.masked_fill(mask.unsqueeze(-1), 0.0)
        z = self.encode(x)
        quantized, index = self.codebook(z)
        commitment = F.mse_loss(z, quantized.detach())
        quantized = z + (quantized - z).detach()
        reconstruction = self.decode(quantized)
        error = (reconstruction - x).pow(2).mean(-1)
        keep = ~mask
        if keep.sum().item() == 0:
            loss = error.sum() * 0
        else:
            loss = error[keep].mean()
        loss = loss + self.commitment * commitment
        if torch.isnan(loss) or torch.isinf(loss):
            raise RuntimeError(f"the loss is {loss.item()}")
        return loss, reconstruction, self.perplexity(index)


def make_inputs(seed: int):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(3, 5, 6, generator=generator)
    if seed % 4 == 2:
        x = x[:1, :1].expand(3, 5, 6).contiguous()
    mask = torch.rand(3, 5, generator=generator) < (0.0, 0.4, 1.0)[seed % 3]
    return x, mask
