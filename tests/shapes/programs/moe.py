"""Experts with a capacity: one-hot dispatch, a batched product, combined again."""

import torch


class Model(torch.nn.Module):
    def __init__(self, width=12, experts=4, capacity=1.5):
        super().__init__()
        self.gate = torch.nn.Linear(width, experts, bias=False)
        self.up = torch.nn.Parameter(torch.rand(experts, width, 2 * width))
        self.down = torch.nn.Parameter(torch.rand(experts, 2 * width, width))
        self.experts, self.capacity = experts, capacity

    def forward(self, hidden, priority):
        batch, length, width = hidden.shape
        flat = hidden.reshape(batch * length, width)
        count = flat.shape[0]
        if count < 2 * self.experts:
            room = count
        else:
            room = (3 * count) // (2 * self.experts)
        weight, chosen = (self.gate(flat) + priority.reshape(-1, 1)).softmax(-1).max(-1)
        taken = torch.nn.functional.one_hot(chosen, self.experts)
        slot = (taken.cumsum(0) - 1).gather(1, chosen[:, None])[:, 0]
        kept = slot < room
        slots = (slot[:, None] == torch.arange(room, device=hidden.device)) & kept[:, None]
        dispatch = (taken[:, :, None] * slots[:, None, :]).to(flat.dtype)
        inside = torch.einsum("nec,nd->ecd", dispatch, flat)
        out = torch.relu(inside @ self.up) @ self.down
        return (torch.einsum("nec,ecd->nd", dispatch, out) * weight[:, None]).view(batch, length, width)


def make_inputs(seed):
    torch.manual_seed(seed)
    return torch.rand(2, 8, 12), torch.rand(2, 8)
