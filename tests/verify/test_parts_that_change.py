"""What a call changes in the parts of a module, most of which hold nothing that can change without being replaced."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from ddelint.trace.registered import buffers_of, parameters_of, parts_of
from ddelint.verify.calls import run
from ddelint.verify.frozen import Constant


class Model(torch.nn.Module):
    """A layer that holds numbers alone, and one with a list."""

    def __init__(self, change: Callable[[Model], None]) -> None:
        super().__init__()
        self.plain = torch.nn.Linear(2, 2)
        self.plain.count = 3
        self.listed = torch.nn.Linear(2, 2)
        self.listed.seen = [1]
        self.change = change

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.change(self)
        return x * 2


def renamed(model: Model) -> None:
    model.plain.number = model.plain.count
    del model.plain.count


def replaced(model: Model) -> None:
    model.plain = torch.nn.Linear(2, 2)
    model.plain.count = 3
    torch.nn.init.ones_(model.plain.weight)
    torch.nn.init.ones_(model.plain.bias)


CHANGES: list[tuple[Callable[[Model], None], set[str]]] = [
    (lambda model: None, set()),
    (lambda model: setattr(model.plain, "count", 4), {"plain.count"}),
    (lambda model: setattr(model.plain, "count", 1 + 2), set()),
    (renamed, {"plain.number", "plain.count"}),
    (lambda model: setattr(model.plain, "cache", torch.ones(1)), {"plain.cache"}),
    (lambda model: setattr(model.plain, "cache", [1]), {"plain.cache"}),
    (lambda model: model.listed.seen.append(2), {"listed.seen"}),
    (lambda model: model.listed.eval() and None, {"listed.training"}),
    (lambda model: model.plain.eval() and None, {"plain.training"}),
    (
        lambda model: setattr(model, "other", torch.nn.ReLU()),
        {"other.training", "other.inplace", "other._is_full_backward_hook"},
    ),
]


@pytest.mark.parametrize(("change", "names"), CHANGES)
def test_each_change_of_a_part_is_seen(change: Callable[[Model], None], names: set[str]) -> None:
    assert set(run(Model(change), ((torch.ones(2),), {})).effects) == names


def test_what_goes_with_a_part_is_gone() -> None:
    effects = run(Model(lambda model: delattr(model, "plain")), ((torch.ones(2),), {})).effects
    names = {"weight", "bias", "count", "training", "in_features", "out_features", "_is_full_backward_hook"}
    assert dict(effects) == {f"plain.{name}": Constant("gone", None) for name in names}


def test_a_part_that_is_another_with_the_same_numbers_has_changed_its_tensors_alone() -> None:
    outcome = run(Model(replaced), ((torch.ones(2),), {}))
    assert set(outcome.effects) == {"plain.weight", "plain.bias"} == set(outcome.rebound)


def test_parts_and_tensors_come_in_the_order_and_under_the_names_that_torch_gives_them() -> None:
    model = torch.nn.TransformerEncoder(torch.nn.TransformerEncoderLayer(8, 2, batch_first=True), 2)
    model.tied = model.layers[0].linear1
    model.first = torch.nn.BatchNorm1d(4)
    assert list(parts_of(model)) == list(model.named_modules())
    assert [name for name, _ in parameters_of(model)] == [name for name, _ in model.named_parameters()]
    assert [name for name, _ in buffers_of(model)] == [name for name, _ in model.named_buffers()]
