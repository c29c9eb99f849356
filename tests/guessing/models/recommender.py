import torch
from torch import nn


class Towers(nn.Module):
    def __init__(self, n_users, n_items, embedding_dim=16):
        super().__init__()
        self.users = nn.Embedding(n_users, embedding_dim)
        self.items = nn.Embedding(n_items, embedding_dim)
        self.mlp = nn.Sequential(nn.Linear(2 * embedding_dim + 13, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, who, what, dense):
        x = torch.cat([self.users(who), self.items(what), dense], -1)
        return self.mlp(x).squeeze(-1)
