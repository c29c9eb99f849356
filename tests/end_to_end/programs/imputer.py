"""Fills holes in a table: column means first, then a regression of each column on the others until nothing moves."""

import torch
from torch import Tensor, nn


class Standardiser(nn.Module):
    """Running mean and deviation of the values that are there."""

    def __init__(self, columns: int, momentum: float = 0.1):
        super().__init__()
        self.momentum = momentum
        self.register_buffer("mean", torch.zeros(columns))
        self.register_buffer("std", torch.ones(columns))
        self.register_buffer("seen", torch.zeros((), dtype=torch.long))

    def update(self, table: Tensor, observed: Tensor) -> None:
        count = observed.sum(0).clamp(min=1)
        mean = torch.where(observed, table, torch.zeros_like(table)).sum(0) / count
        spread = torch.where(observed, (table - mean) ** 2, torch.zeros_like(table)).sum(0) / count
        if self.seen == 0:
            self.mean.copy_(mean)
            self.std.copy_(spread.sqrt().clamp(min=1e-3))
        else:
            self.mean.lerp_(mean, self.momentum)
            self.std.lerp_(spread.sqrt().clamp(min=1e-3), self.momentum)
        self.seen += 1

    def forward(self, table: Tensor) -> Tensor:
        return (table - self.mean) / self.std

    def inverse(self, table: Tensor) -> Tensor:
        return table * self.std + self.mean


class ColumnRegressor(nn.Module):
    def __init__(self, columns: int, width: int = 8):
        super().__init__()
        self.hidden = nn.Linear(columns - 1, width)
        self.out = nn.Linear(width, 1)

    def forward(self, rest: Tensor) -> Tensor:
        return self.out(torch.tanh(self.hidden(rest))).squeeze(-1)


def fill_with_mean(table: Tensor, observed: Tensor) -> Tensor:
    filled = table.clone()
    for column in range(table.shape[1]):
        missing = ~observed[:, column]
        if not missing.any():
            continue
        present = table[observed[:, column], column]
        value = present.mean() if present.numel() > 0 else table.new_zeros(())
        filled[missing, column] = value
    return filled


def worst_column(observed: Tensor) -> int:
    share = (~observed).float().mean(dim=0).tolist()
    return share.index(max(share))


class Model(nn.Module):
    def __init__(self, columns: int = 4, iterations: int = 4, tolerance: float = 1e-2):
        super().__init__()
        self.standardise = Standardiser(columns)
        self.regressors = nn.ModuleList(ColumnRegressor(columns) for _ in range(columns))
        self.iterations = iterations
        self.tolerance = tolerance

    def refine(self, filled: Tensor, observed: Tensor) -> Tensor:
        columns = torch.arange(filled.shape[1])
        for column, regressor in enumerate(self.regressors):
            missing = ~observed[:, column]
            if missing.sum() == 0:
                continue
            rest = filled[:, columns != column]
            guess = regressor(rest)
            filled = filled.clone()
            filled[missing, column] = guess[missing]
        return filled

    def forward(self, table: Tensor, weights: Tensor):
        observed = ~torch.isnan(table)
        if not observed.any():
            raise ValueError("the table is empty")
        if torch.isinf(table).any():
            raise ValueError("the table is not finite")
        self.standardise.update(torch.nan_to_num(table), observed)
        if observed.all():
            return self.standardise(table), torch.zeros(()), 0
        filled = fill_with_mean(self.standardise(table), observed)
        change = torch.full((), float("inf"))
        for _ in range(self.iterations):
            refined = self.refine(filled, observed)
            change = (refined - filled).abs().max()
            filled = refined
            if change < self.tolerance:
                break
        if weights.sum() > 0:
            weights = weights / weights.sum()
        result = filled * weights.unsqueeze(-1)
        return result, change, worst_column(observed)


def make_inputs(seed: int):
    generator = torch.Generator().manual_seed(seed)
    table = torch.randn(6, 4, generator=generator)
    holes = torch.rand(6, 4, generator=generator) < (0.3, 0.0, 0.1)[seed % 3]
    if seed % 5 == 3:
        holes[:, 2] = True
    weights = torch.rand(6, generator=generator) * (seed % 4 != 1)
    return table.masked_fill(holes, float("nan")), weights
