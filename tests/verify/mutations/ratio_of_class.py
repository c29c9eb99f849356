"""A ratio that the class is asked for: by the model with tensors, by a report with what a file held."""

import torch


class Model(torch.nn.Module):
    @staticmethod
    def ratio(part, whole):
        # decided from here
        if whole == 0:
            return part * 0.0
        return part / whole
        # to here

    def forward(self, votes, valid):
        return self.ratio(votes.sum(0), valid.sum()).cumsum(0)


def gained(old, votes, valid):
    return Model.ratio(votes.sum(), valid.sum()) - Model.ratio(old["part"], old["whole"])


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return torch.rand(4, 3, generator=g), (torch.rand(4, generator=g) < [0.0, 0.6][seed % 2]).float()
