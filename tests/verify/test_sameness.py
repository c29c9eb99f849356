"""When two results count as the same."""

from __future__ import annotations

import math
from collections import OrderedDict
from typing import Any

import pytest
import torch

from ddelint.verify.frozen import Freezer
from ddelint.verify.noise import Noise
from ddelint.verify.sameness import COMPILED, EXACT, Tolerance, differences


def aspects(expected: Any, got: Any, tolerance: Tolerance = EXACT) -> list[str]:
    freezer = Freezer()
    return [found.aspect for found in differences(freezer.freeze(expected), freezer.freeze(got), tolerance)]


SAME = [
    (torch.ones(3), torch.ones(3)),
    (torch.tensor([1.0, math.nan, math.inf]), torch.tensor([1.0, math.nan, math.inf])),
    (torch.tensor([1.0]), torch.tensor([1.0 + 5e-7])),
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
    (1.0, torch.tensor(2.0), "type"),
    (1.0, torch.ones(1), "type"),
    (1.0, torch.ones((), dtype=torch.int64), "type"),
    (True, torch.tensor(True), "type"),
    (0.1, torch.tensor(0.1), "type of a number"),
    (3, torch.tensor(3), "type of a number"),
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


def test_a_number_differs_by_units_in_its_own_last_place_alone() -> None:
    expected = torch.tensor([1.0, 1e30, 1e-9, -1e38])

    for index, by in ((0, 1e-3), (2, 1e-12)):
        got = expected.clone()
        got[index] += by
        assert aspects(expected, got) == ["value"], index
    assert aspects(expected, torch.nextafter(expected, expected * 2)) == []
    assert aspects(torch.tensor(3e-7), torch.tensor(3.1e-7)) == ["value"]


def test_a_double_is_no_float_put_wide_unless_both_sides_were_one() -> None:
    tenth = torch.tensor(0.1)

    assert aspects(torch.tensor([0.1], dtype=torch.float64), tenth.double().reshape(1)) == ["value"]
    assert aspects(0.1, tenth.item()) == ["value"]
    assert aspects(tenth.item(), (tenth * (1 + 2e-7)).item()) == []


def test_the_sign_of_zero_is_told() -> None:
    assert aspects(torch.tensor([0.0]), torch.tensor([-0.0])) == ["sign of zero"]
    assert aspects(torch.tensor([0.0]), torch.tensor([-0.0]), COMPILED) == []
    assert aspects(0.0, -0.0) == ["sign of zero"]


def noisy(expected: torch.Tensor, got: torch.Tensor, *moved: tuple[float, torch.Tensor]) -> list[str]:
    freezer = Freezer()
    noise = Noise(tuple((amount, freezer.freeze(value)) for amount, value in moved))
    return [d.aspect for d in differences(freezer.freeze(expected), freezer.freeze(got), EXACT, noise=noise)]


def test_sums_of_large_terms_lose_as_many_digits_as_their_terms_move_them() -> None:
    expected, got = torch.tensor([1.0, 1.0]), torch.tensor([1.004, 1.0])
    steep = [
        (1e-5, expected + torch.tensor([0.1, 0.0])),
        (1e-5, expected),
        (1e-6, expected + torch.tensor([0.01, 0.0])),
    ]

    assert noisy(expected, got) == ["value"]
    assert noisy(expected, got, *steep) == []
    assert noisy(expected, got.flip(0), *steep) == ["value"], "the other element does not move"


def test_a_jump_is_no_rounding() -> None:
    expected, got = torch.tensor([1.0]), torch.tensor([1.004])
    jump = [(1e-5, expected + 1), (1e-5, expected + 1), (1e-6, expected + 1)]

    assert noisy(expected, got, *jump) == ["value"]


def test_compiled_code_rounds_elsewhere_and_makes_tuples_of_lists() -> None:
    assert aspects([torch.tensor([1.0])], (torch.tensor([1.000005]),), COMPILED) == []
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
