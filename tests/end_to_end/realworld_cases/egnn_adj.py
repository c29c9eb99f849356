"""An equivariant graph network whose neighbours come from an adjacency matrix."""

import torch
from egnn_pytorch import EGNN_Network

PACKAGE = "egnn_pytorch"

torch.manual_seed(0)
model = EGNN_Network(num_tokens=10, dim=8, depth=1, only_sparse_neighbors=True).eval()
i = torch.arange(8)
args = (torch.randint(0, 10, (1, 8)), torch.randn(1, 8, 3))
kwargs = {"adj_mat": (i[:, None] - i[None]).abs() <= 1}
