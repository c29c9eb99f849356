"""What a value is said to be: records with the names of their fields."""

from __future__ import annotations

import dataclasses
from collections import namedtuple

import pytest
import torch

from ddelint.trace.values import describe_value

Named = namedtuple("Named", ["rows", "count"])


@dataclasses.dataclass
class Held:
    rows: torch.Tensor
    count: int


@dataclasses.dataclass
class Half:
    rows: torch.Tensor
    count: int = dataclasses.field(init=False, default=0)


@dataclasses.dataclass(init=False)
class Own:
    rows: torch.Tensor

    def __init__(self, rows: torch.Tensor, factor: int) -> None:
        self.rows = rows * factor


class Heir(Held):
    further = 2


HALF_OF_IT = (Own(torch.zeros(2), 2), Heir(torch.zeros(2), 1))


@pytest.mark.parametrize("made", [Named, Held])
def test_a_record_has_the_names_of_its_fields(made: type) -> None:
    fact = describe_value(made(torch.zeros(2, 3), 4))
    assert [(name, part.kind) for name, part in fact.items] == [("rows", "tensor"), ("count", "int")]
    assert fact.python_type.rpartition(".")[2] == made.__name__


@pytest.mark.parametrize(
    "value",
    [
        (torch.zeros(2), 4),
        Half(torch.zeros(2)),
        Own(torch.zeros(2), 2),
        Heir(torch.zeros(2), 1),
        torch.zeros(2, 2).max(0),
        object(),
    ],
)
def test_what_is_not_made_of_all_its_fields_has_none(value: object) -> None:
    assert not any(name for name, _ in describe_value(value).items)


def test_fields_of_one_type_have_names_too() -> None:
    fact = describe_value(Named(torch.zeros(2), torch.zeros(3)))
    assert [name for name, _ in fact.items] == ["rows", "count"]
    assert fact.element is not None
