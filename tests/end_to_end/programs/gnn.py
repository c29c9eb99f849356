"""Graph classification: messages along edges, top-k pooling of nodes, and a readout for each graph of the batch."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F


def maybe_num_nodes(edge_index: torch.Tensor, num_nodes: int | None = None) -> int:
    if num_nodes is not None:
        return num_nodes
    return int(edge_index.max()) + 1 if edge_index.numel() > 0 else 0


def remove_self_loops(edge_index: torch.Tensor) -> torch.Tensor:
    mask = edge_index[0] != edge_index[1]
    return edge_index[:, mask]


def degree(index: torch.Tensor, num_nodes: int) -> torch.Tensor:
    out = torch.zeros(num_nodes, device=index.device)
    return out.scatter_add_(0, index, torch.ones_like(index, dtype=out.dtype))


def segment_mean(x: torch.Tensor, index: torch.Tensor, size: int) -> torch.Tensor:
    total = x.new_zeros(size, x.size(-1)).index_add_(0, index, x)
    count = x.new_zeros(size).index_add_(0, index, x.new_ones(index.size(0)))
    return total / count.clamp(min=1).unsqueeze(-1)


class GraphConv(nn.Module):
    def __init__(self, inside: int, outside: int) -> None:
        super().__init__()
        self.own = nn.Linear(inside, outside)
        self.neighbour = nn.Linear(inside, outside, bias=False)

    def forward(self, x: torch.Tensor, edge_index: torch.Tensor) -> torch.Tensor:
        out = self.own(x)
        if edge_index.size(1) == 0:
            return out
        source, target = edge_index
        messages = torch.zeros_like(x).index_add_(0, target, x[source])
        weight = degree(target, x.size(0)).clamp(min=1).rsqrt()
        return out + self.neighbour(messages * weight.unsqueeze(-1))


class TopKPool(nn.Module):
    """Keeps half of the nodes, the best by a learned score, and the edges between them."""

    def __init__(self, width: int, ratio: float = 0.5) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(width))
        self.ratio = ratio

    def forward(self, x, edge_index, batch):
        score = torch.tanh((x * self.weight).sum(-1) / self.weight.norm())
        keep = []
        for graph in range(int(batch.max()) + 1):
            nodes = (batch == graph).nonzero().view(-1)
            if nodes.numel() == 0:
                continue
            k = max(1, int(self.ratio * nodes.numel()))
            best = score[nodes].topk(k).indices
            keep.append(nodes[best])
        perm = torch.cat(keep)
        x = x[perm] * score[perm].unsqueeze(-1)
        position = torch.full((score.size(0),), -1, dtype=torch.long)
        position[perm] = torch.arange(perm.size(0))
        row, col = position[edge_index[0]], position[edge_index[1]]
        inside = (row >= 0) & (col >= 0)
        return x, torch.stack([row[inside], col[inside]]), batch[perm]


class Model(nn.Module):
    def __init__(self, features: int = 4, width: int = 8, classes: int = 3) -> None:
        super().__init__()
        self.conv1 = GraphConv(features, width)
        self.pool = TopKPool(width)
        self.conv2 = GraphConv(width, width)
        self.head = nn.Linear(2 * width, classes)

    def check(self, x, edge_index):
        n = maybe_num_nodes(edge_index)
        if n > x.size(0):
            raise IndexError(f"edges speak of {n} nodes, there are {x.size(0)}")

    def forward(self, x, edge_index, batch):
        self.check(x, edge_index)
        num_graphs = batch.max().item() + 1
        if (edge_index[0] == edge_index[1]).any():
            edge_index = remove_self_loops(edge_index)
        h = F.relu(self.conv1(x, edge_index))
        mean1 = segment_mean(h, batch, num_graphs)
        h, edge_index, batch = self.pool(h, edge_index, batch)
        h = F.relu(self.conv2(h, edge_index))
        mean2 = segment_mean(h, batch, num_graphs)
        return self.head(torch.cat([mean1, mean2], dim=-1)).log_softmax(-1)


def make_inputs(seed: int):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(12, 4, generator=generator)
    edge_index = torch.randint(0, 12, (2, 20), generator=generator)
    if seed % 4 == 1:
        edge_index[1] = (edge_index[0] + 1) % 12
    if seed % 4 == 2:
        edge_index[1] = edge_index[0]
    batch = torch.randint(0, 3, (12,), generator=generator).sort().values
    batch[-1] = 2
    return x, edge_index, batch
