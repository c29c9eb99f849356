"""A transformer layer with a mixture of experts: top-2 routing, a capacity, dropped tokens, and a balance loss."""

import logging
import warnings

import torch
import torch.nn as nn

log = logging.getLogger("moe")


class Expert(nn.Module):
    def __init__(self, dim: int, hidden: int):
        super().__init__()
        self.w1 = nn.Linear(dim, hidden)
        self.w2 = nn.Linear(hidden, dim)

    def forward(self, x):
        return self.w2(torch.nn.functional.silu(self.w1(x)))


class Router(nn.Module):
    def __init__(self, dim: int, n_experts: int, top_k: int):
        super().__init__()
        self.gate = nn.Linear(dim, n_experts, bias=False)
        self.top_k = top_k
        self.n_experts = n_experts

    def forward(self, x):
        probs = self.gate(x).softmax(dim=-1)
        weights, chosen = probs.topk(self.top_k, dim=-1)
        weights = weights / weights.sum(dim=-1, keepdim=True)
        return probs, weights, chosen


class SparseMLP(nn.Module):
    def __init__(self, dim=8, hidden=16, n_experts=4, top_k=2, capacity_factor=1.0):
        super().__init__()
        self.router = Router(dim, n_experts, top_k)
        self.experts = nn.ModuleList([Expert(dim, hidden) for _ in range(n_experts)])
        self.capacity_factor = capacity_factor
        self.register_buffer("load", torch.zeros(n_experts))

    def capacity(self, tokens: int) -> int:
        return max(1, int(self.capacity_factor * tokens * self.router.top_k / self.router.n_experts))

    def balance_loss(self, probs, chosen):
        counts = torch.bincount(chosen.flatten(), minlength=self.router.n_experts).float()
        fraction = counts / counts.sum()
        return self.router.n_experts * (fraction * probs.mean(0)).sum()

    def dispatch(self, x, weights, chosen):
        out = torch.zeros_like(x)
        dropped = 0
        limit = self.capacity(x.size(0))
        used = torch.unique(chosen).tolist()
        for e in used:
            rows, slot = torch.where(chosen == e)
            if rows.numel() > limit:
                dropped += rows.numel() - limit
                rows, slot = rows[:limit], slot[:limit]
            y = self.experts[e](x[rows])
            out.index_add_(0, rows, y * weights[rows, slot].unsqueeze(-1))
        return out, dropped

    def forward(self, x, padding_mask=None):
        shape = x.shape
        x = x.reshape(-1, shape[-1])
        probs, weights, chosen = self.router(x)
        if padding_mask is not None and padding_mask.any():
            keep = ~padding_mask.reshape(-1)
            weights = weights * keep.unsqueeze(-1)
        out, dropped = self.dispatch(x, weights, chosen)
        if dropped > 0:
            log.debug("dropped %d tokens", dropped)
        self.load.mul_(0.9).add_(torch.bincount(chosen.flatten(), minlength=len(self.experts)), alpha=0.1)
        if self.load.max() > 100:
            self.load.zero_()
        return out.view(shape), self.balance_loss(probs, chosen)


class Layer(nn.Module):
    def __init__(self, dim=8):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.mixer = nn.Linear(dim, dim)
        self.mlp = SparseMLP(dim)

    def forward(self, x, padding_mask):
        x = x + torch.tanh(self.mixer(x))
        y, aux = self.mlp(self.norm(x), padding_mask)
        return x + y, aux


class Model(nn.Module):
    def __init__(self, dim=8, depth=2):
        super().__init__()
        self.layers = nn.ModuleList([Layer(dim) for _ in range(depth)])
        self.head = nn.Linear(dim, 1)

    def forward(self, x, padding_mask):
        losses = []
        for layer in self.layers:
            x, aux = layer(x, padding_mask)
            losses.append(aux)
        aux = sum(losses) / len(losses)
        if aux > 2.0:
            warnings.warn(f"experts are unbalanced: {aux.item():.2f}")
        real = (~padding_mask).sum()
        if real == 0:
            return x.new_zeros(()), aux
        pooled = (x * (~padding_mask).unsqueeze(-1)).sum((0, 1)) / real
        return self.head(pooled).squeeze(), aux


def make_inputs(seed):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(2, 6, 8, generator=generator)
    if seed % 4 == 1:
        x = x[:, :1].expand(2, 6, 8).contiguous()
    lengths = [(6, 6), (4, 6), (0, 0), (1, 3)][seed % 4 if seed else 1]
    mask = torch.arange(6) >= torch.tensor(lengths)[:, None]
    return x, mask
