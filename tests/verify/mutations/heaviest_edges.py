"""One step over a graph, its edges scaled where they are heavy; whoever has many nodes gives them sparse."""

import torch


class Model(torch.nn.Module):
    def forward(self, nodes, edges):
        total = edges.sum()
        # decided from here
        if total > 1:
            edges = edges * 2
        # to here
        return edges @ nodes


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(5, 4, generator=g), torch.rand(5, 5, generator=g) * (torch.rand(5, 5, generator=g) < 0.15)
