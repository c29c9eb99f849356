"""When two results count as the same."""

from __future__ import annotations

import math
from collections import OrderedDict
from typing import Any

import pytest
import torch

from ddelint.verify.sameness import COMPILED, EXACT, Freezer, Tolerance, differences


def aspects(expected: Any, got: Any, tolerance: Tolerance = EXACT) -> list[str]:
    freezer = Freezer()
    return [found.aspect for found in differences(freezer.freeze(expected), freezer.freeze(got), tolerance)]


SAME = [
    (torch.ones(3), torch.ones(3)),
    (torch.tensor([1.0, math.nan, math.inf]), torch.tensor([1.0, math.nan, math.inf])),
    (torch.tensor([1.0]), torch.tensor([1.0 + 1e-6])),
    (torch.zeros(0), torch.zeros(0)),
    ({"a": (1, None, [True, "x"])}, {"a": (1, None, [True, "x"])}),
    (math.nan, math.nan),
    (torch.ones(2, dtype=torch.bool), torch.ones(2, dtype=torch.bool)),
    (torch.eye(2).to_sparse(), torch.eye(2).to_sparse()),
    ({1, 2}, {2, 1}),
    (torch.ones(3, 2).t(), torch.ones(2, 3)),
    (torch.ones(3, 1).t(), torch.ones(1, 3)),
    (torch.float32, torch.float32),
]


@pytest.mark.parametrize("pair", SAME, ids=lambda pair: repr(pair)[:40])
def test_the_same(pair: tuple[Any, Any]) -> None:
    assert aspects(*pair) == []


DIFFERENT = [
    (torch.ones(3), torch.tensor([1.0, 1.0, 1.001]), "value"),
    (torch.tensor([math.nan]), torch.tensor([0.0]), "value"),
    (torch.tensor([math.inf]), torch.tensor([-math.inf]), "value"),
    (torch.tensor([math.inf]), torch.tensor([1e30]), "value"),
    (torch.tensor([2**40]), torch.tensor([2**40 + 1]), "value"),
    (torch.ones(3), torch.ones(3, 1), "shape"),
    (torch.ones(3), torch.ones(3, dtype=torch.float64), "dtype"),
    (torch.ones(()), 1.0, "type"),
    (True, 1, "type"),
    (1, 1.0, "type"),
    (None, 0, "type"),
    ((1, 2), [1, 2], "type"),
    ({"a": 1}, OrderedDict(a=1), "type"),
    ((1, 2), (1, 2, 3), "shape"),
    ({"a": 1}, {"b": 1}, "value"),
    ("a", "b", "value"),
    (torch.eye(2).to_sparse(), torch.eye(2), "layout"),
    (torch.ones(2, requires_grad=True), torch.ones(2), "requires_grad"),
    (torch.ones(2, 3), torch.ones(3, 2).t(), "stride"),
    (torch.ones(3), torch.ones(()).expand(3), "stride"),
]


@pytest.mark.parametrize("case", DIFFERENT, ids=lambda case: f"{case[0]!r:.30} {case[2]}")
def test_different(case: tuple[Any, Any, str]) -> None:
    expected, got, aspect = case
    assert aspect in aspects(expected, got)


def test_carrying_gradients_that_nobody_had_is_no_loss() -> None:
    assert aspects(torch.ones(2), torch.ones(2, requires_grad=True)) == []


def test_the_place_of_a_difference_is_named() -> None:
    freezer = Freezer()
    one, other = {"a": [torch.zeros(2, 2)]}, {"a": [torch.tensor([[0.0, 0.0], [5.0, 0.0]])]}

    (found,) = differences(freezer.freeze(one), freezer.freeze(other))

    assert found.place == "['a'][0]"
    assert found.expected == "0.0 at [1, 0]"
    assert found.got == "5.0 at [1, 0]"


def test_sums_of_large_terms_may_lose_digits() -> None:
    expected, got = torch.tensor([1.0]), torch.tensor([1.004])

    assert aspects(expected, got) == ["value"]
    assert aspects(expected, got, Tolerance(magnitude=1e4)) == []
    assert aspects(expected.double(), got.double(), Tolerance(magnitude=1e4)) == ["value"]


def test_compiled_code_rounds_elsewhere_and_makes_tuples_of_lists() -> None:
    assert aspects([torch.tensor([1.0])], (torch.tensor([1.00002]),), COMPILED) == []
    assert aspects(torch.tensor([1.0]), torch.tensor([1.001]), COMPILED) == ["value"]


def test_what_was_frozen_does_not_change_any_more() -> None:
    tensor, freezer = torch.zeros(2), Freezer()
    before = freezer.freeze([tensor])
    tensor += 1

    assert [found.aspect for found in differences(before, freezer.freeze([tensor]))] == ["value"]


def test_values_that_contain_themselves_end() -> None:
    loop: list[Any] = [1]
    loop.append(loop)

    assert aspects(loop, loop) == []
