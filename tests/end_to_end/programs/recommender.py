"""A sequential recommender: the history of each user, a cold-start path, and the best items not seen yet."""

from typing import Dict, List

import torch
import torch.nn as nn
import torch.nn.functional as F


class ItemTower(nn.Module):
    def __init__(self, items: int, width: int):
        super().__init__()
        self.embedding = nn.Embedding(items, width, padding_idx=0)
        self.bias = nn.Parameter(torch.zeros(items))
        self.project = nn.Linear(width, width)

    def forward(self, ids):
        return self.project(self.embedding(ids))


class HistoryEncoder(nn.Module):
    def __init__(self, width: int, longest: int):
        super().__init__()
        self.longest = longest
        self.position = nn.Parameter(torch.randn(longest, width) * 0.02)
        self.attention = nn.Linear(width, 1)

    def forward(self, x, mask):
        steps = x.shape[1]
        x = x + self.position[:steps]
        weights = self.attention(x).squeeze(-1)
        weights = weights.masked_fill(~mask, -1e9).softmax(-1)
        return torch.einsum("bt,btd->bd", weights, x)


def trim(history: torch.Tensor) -> torch.Tensor:
    """Drops columns that are padding for everyone."""
    lengths = (history != 0).sum(dim=1)
    longest = max(lengths.tolist())
    return history[:, : max(longest, 1)]


def recency(times: torch.Tensor, now: float, half_life: float = 7.0) -> torch.Tensor:
    age = now - times
    if torch.any(age < 0):
        age = age.clamp(min=0)
    return torch.pow(0.5, age / half_life)


class Model(nn.Module):
    def __init__(self, items: int = 20, users: int = 10, width: int = 8, k: int = 3):
        super().__init__()
        self.items = ItemTower(items, width)
        self.encoder = HistoryEncoder(width, 8)
        self.users = nn.Embedding(users, width)
        self.cold = nn.Parameter(torch.randn(width))
        self.k = k

    def user_vectors(self, user: torch.Tensor, history: torch.Tensor) -> torch.Tensor:
        history = trim(history)
        mask = history != 0
        encoded = self.encoder(self.items(history), mask)
        has_history = mask.any(dim=1)
        if not has_history.all():
            cold = (~has_history).nonzero(as_tuple=True)[0]
            encoded = encoded.clone()
            encoded[cold] = self.cold
        known = user < self.users.num_embeddings
        if known.all():
            return encoded + self.users(user)
        safe = torch.where(known, user, torch.zeros_like(user))
        return encoded + self.users(safe) * known.unsqueeze(-1)

    def exclude_seen(self, scores: torch.Tensor, history: torch.Tensor) -> torch.Tensor:
        scores = scores.clone()
        for row, items in enumerate(history):
            seen = items[items > 0]
            if len(seen):
                scores[row, seen] = float("-inf")
        scores[:, 0] = float("-inf")
        return scores

    def forward(self, batch: Dict[str, torch.Tensor]) -> Dict[str, torch.Tensor]:
        user, history, times = batch["user"], batch["history"], batch["times"]
        if history.min() < 0:
            raise ValueError("item ids must not be negative")
        vectors = F.normalize(self.user_vectors(user, history), dim=-1)
        catalogue = self.items(torch.arange(self.items.embedding.num_embeddings))
        scores = vectors @ catalogue.T + self.items.bias
        boost = recency(times, now=float(times.max()))
        scores = scores * boost.mean(dim=1, keepdim=True)
        scores = self.exclude_seen(scores, history)
        k = min(self.k, int((scores > float("-inf")).sum(dim=1).min()))
        top = scores.topk(k, dim=-1)
        outputs: List[torch.Tensor] = [top.values, top.indices]
        if "target" in batch and (batch["target"] > 0).any():
            labelled = batch["target"] > 0
            loss = F.cross_entropy(vectors[labelled] @ catalogue.T, batch["target"][labelled])
        else:
            loss = vectors.sum() * 0
        return {"scores": outputs[0], "items": outputs[1], "loss": loss}


def make_inputs(seed: int):
    generator = torch.Generator().manual_seed(seed)
    lengths = torch.randint(0, 9, (4,), generator=generator)
    if seed % 4 == 3:
        lengths = lengths.clamp(1, 5)
    history = torch.randint(1, 20, (4, 8), generator=generator)
    history = history * (torch.arange(8) < lengths[:, None])
    return (
        {
            "user": torch.randint(0, 10 + 3 * (seed % 2), (4,), generator=generator),
            "history": history,
            "times": torch.rand(4, 8, generator=generator) * 30,
            "target": torch.randint(0, 20, (4,), generator=generator) * (seed % 3 != 2),
        },
    )
