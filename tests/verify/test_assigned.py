"""Tensors that a program assigns to plain attributes: torch.export assigns while it traces, and never again."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from ddelint.verify.calls import run
from ddelint.verify.mismatches import outcome_differences
from ddelint.verify.sameness import EXACT


class Table(torch.nn.Module):
    """A table, made when it is first asked for; or filled in place."""

    def __init__(self, change: Callable[[Table, torch.Tensor], None]) -> None:
        super().__init__()
        self.table: torch.Tensor | None = None
        self.sums = torch.zeros(2)
        self.change = change

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.change(self, x)
        return x * 2


def made(module: Table, x: torch.Tensor) -> None:
    module.table = torch.arange(x.shape[0])


def filled(module: Table, x: torch.Tensor) -> None:
    module.sums.add_(x)


def nothing(module: Table, x: torch.Tensor) -> None:
    pass


@pytest.mark.parametrize(
    ("change", "everything", "aspects"),
    [
        (made, False, {"side effect"}),
        (made, True, {"mutation"}),
        (filled, False, {"mutation"}),
        (filled, True, {"mutation"}),
    ],
)
def test_what_is_assigned_anew_need_not_be_kept_by_what_is_traced(
    change: Callable[[Table, torch.Tensor], None], everything: bool, aspects: set[str]
) -> None:
    expected, got = (run(Table(each), ((torch.ones(2),), {})) for each in (change, nothing))
    found = outcome_differences(expected, got, EXACT, everything=everything)
    assert {difference.aspect for difference in found} == aspects


class Cache(torch.nn.Module):
    """What was computed of the rows that it was last given; `forgets` computes it anew on each call."""

    def __init__(self, *, forgets: bool) -> None:
        super().__init__()
        self.rows: torch.Tensor | None = None
        self.scaled: torch.Tensor | None = None
        self.forgets = forgets

    def forward(self, x: torch.Tensor, factor: float) -> torch.Tensor:
        if self.forgets or self.rows is None or not torch.equal(self.rows, x):
            self.rows = x
            self.scaled = x * factor
        return x + 1


@pytest.mark.parametrize(
    ("factor", "everything", "aspects"),
    [(2.0, False, set()), (2.0, True, {"mutation"}), (3.0, False, {"mutation"})],
    ids=["compiled", "eager", "another value"],
)
def test_a_cache_that_is_filled_anew_with_what_it_held_is_the_same_on_the_compiled_path(
    factor: float, everything: bool, aspects: set[str]
) -> None:
    modules = Cache(forgets=False), Cache(forgets=True)
    for module in modules:
        module(torch.ones(2), 2.0)
    expected, got = (run(module, ((torch.ones(2), factor), {})) for module in modules)
    found = outcome_differences(expected, got, EXACT, everything=everything)
    assert {difference.aspect for difference in found} == aspects
