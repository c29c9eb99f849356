"""A detector's head over proposals that a score chooses: ten places where data decides, of as many rules as fit."""

import warnings

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, width: int = 16, classes: int = 4) -> None:
        super().__init__()
        self.embed = nn.Linear(width, width)
        self.gate = nn.Linear(width, 1)
        self.classify = nn.Linear(width, classes)
        self.boxes = nn.Linear(width, 4)

    def forward(
        self, features: torch.Tensor, sizes: torch.Tensor, ignored: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        if (sizes < 0).any():
            raise ValueError("sizes must not be negative")
        if not torch.isfinite(features).all():
            warnings.warn("features are not finite", stacklevel=2)
        if ignored.any():
            features = features.masked_fill(ignored.unsqueeze(-1), 0.0)
        hidden = torch.relu(self.embed(features))
        chosen = self.choose(hidden)
        padded = self.grid(hidden, sizes, int(sizes.max()))
        return self.classes(chosen), self.corners(chosen), padded

    def choose(self, hidden: torch.Tensor) -> torch.Tensor:
        """Rows whose gate is open."""
        open_rows = (self.gate(hidden).squeeze(-1) > 0).nonzero().squeeze(1)
        chosen = hidden[open_rows]
        if len(open_rows) == 0:
            return chosen
        return chosen / len(open_rows)

    def classes(self, chosen: torch.Tensor) -> torch.Tensor:
        """Logits; large ones are clipped."""
        logits = self.classify(chosen)
        if logits.abs().sum() > 50.0:
            logits = logits.clamp(-10.0, 10.0)
        return logits

    def corners(self, chosen: torch.Tensor) -> torch.Tensor:
        """Boxes with ordered corners."""
        corners = self.boxes(chosen)
        wrong = corners[:, 0] > corners[:, 2]
        if wrong.any():
            corners = torch.where(wrong.unsqueeze(1), corners[:, [2, 1, 0, 3]], corners)
        return corners

    def grid(self, hidden: torch.Tensor, sizes: torch.Tensor, longest: int) -> torch.Tensor:
        """The first rows of each proposal, as many as it is large."""
        steps = torch.arange(longest, device=hidden.device)
        mask = steps < sizes.unsqueeze(1)
        padded = hidden[steps.clamp(max=hidden.shape[0] - 1)].expand(sizes.shape[0], -1, -1)
        if not mask.all():
            padded = padded.masked_fill(~mask.unsqueeze(-1), 0.0)
        return padded


def make_inputs(seed: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Twelve proposals; every shape is the same for every seed."""
    generator = torch.Generator().manual_seed(seed)
    features = torch.randn(12, 16, generator=generator) * (8.0 if seed % 3 == 2 else 1.0)
    sizes = torch.randint(0, 6, (5,), generator=generator)
    ignored = torch.rand(12, generator=generator) < (0.3 if seed % 2 else 0.0)
    return features, sizes, ignored
