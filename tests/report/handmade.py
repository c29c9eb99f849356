"""The model that hand-made findings are about, and where things stand in it."""

from __future__ import annotations

from ddelint.nouns.diagnostics import Span

MODEL = """\
import torch
from torch import nn


class Router(nn.Module):
    def __init__(self, width: int, count: int) -> None:
        super().__init__()
        self.experts = nn.ModuleList(nn.Linear(width, width) for _ in range(count))

    def forward(self, x, router):
        out = torch.zeros_like(x)
        for expert, layer in enumerate(self.experts):
            hit = (router == expert).nonzero()

            # nothing to do for this expert
            if hit.shape[0] == 0:
                continue
            rows = hit[:, 0]
            out.index_add_(0, rows, layer(x[rows]))
        n = int(router.max())
        if n > 4:
            raise ValueError("too many")
        return out
"""


def span_of(text: str, needle: str, filename: str = "model.py", source: str = MODEL) -> Span:
    """Where `needle` stands within the first occurrence of `text`."""
    at = source.index(text) + text.index(needle)
    row = source.count("\n", 0, at) + 1
    column = at - (source.rfind("\n", 0, at) + 1) + 1
    end = at + len(needle)
    end_row = source.count("\n", 0, end) + 1
    return Span(filename, row, column, end_row, end - (source.rfind("\n", 0, end) + 1) + 1)
