"""Conditions over sizes: read, evaluated, negated, put simply, proved, and satisfied."""

from __future__ import annotations

import pytest

from ddelint.shapes.extremes import without_extremes
from ddelint.shapes.facts import Unreadable, is_readable, negated, read
from ddelint.shapes.linear_forms import follows, is_product, refuted
from ddelint.shapes.plain import plain
from ddelint.shapes.ranges import ranges_of
from ddelint.shapes.witnesses import find

A, B, C = "a.shape[0]", "b.shape[0]", "c.shape[1]"


@pytest.mark.parametrize(
    ("text", "sizes", "truth"),
    [
        (f"{A} == {B}", {A: 3, B: 3}, True),
        (f"{A} % 8 == 0", {A: 20}, False),
        (f"max({A}, 4) < {B} // 2", {A: 1, B: 10}, True),
        (f"{A} > 2 and not {B} == 1", {A: 3, B: 1}, False),
        (f"{A} % {B} == 0", {A: 3, B: 0}, None),
    ],
)
def test_a_condition_has_a_truth(text: str, sizes: dict[str, int], truth: bool | None) -> None:
    assert read(text).holds(sizes) is truth


@pytest.mark.parametrize(
    "text", ["__import__('os')", "a.shape", "open('x')", "a.shape[0] ** 99", "a[0]", "(", "lambda: 1", "a.shape[i]"]
)
def test_what_is_no_arithmetic_over_sizes_is_not_read(text: str) -> None:
    assert not is_readable(text)
    with pytest.raises(Unreadable):
        read(text)


@pytest.mark.parametrize("text", [f"{A} == {B}", f"{A} <= 4", f"{A} > 1 and {B} < 3", f"not {A} == 2", f"{A} != {B}"])
def test_the_opposite_has_the_opposite_truth(text: str) -> None:
    for a in range(6):
        for b in range(6):
            sizes = {A: a, B: b}
            assert read(text).holds(sizes) is not read(negated(text)).holds(sizes)


@pytest.mark.parametrize(
    ("text", "simple"),
    [
        (f"32*{A} != 0", f"{A} >= 1"),
        (f"{A} > 6", f"{A} >= 7"),
        (f"4*{A} == 4*{B}", f"{A} == {B}"),
        (f"{A} - {B} >= 0", f"{A} >= {B}"),
        (f"{A} == 2*{B} + 1", f"{A} == 2 * {B} + 1"),
        (f"{A} % 8 == 0", f"{A} % 8 == 0"),
        (f"6*{A} % 48 == 0", f"{A} % 8 == 0"),
        (f"{A} // 8 >= 1", f"{A} >= 8"),
        (f"{A} // 4 < 2", f"{A} <= 7"),
        (f"8*{A}*{B} != 0", f"{A} >= 1 and {B} >= 1"),
        (f"({A} - 5) // 2 + 1 < 4", f"{A} <= 10"),
        (f"({A} // 2 + 1) // 2 >= 2", f"{A} >= 6"),
        (f"max({A}, 4) == 4", f"{A} <= 4"),
        (f"{A} % 2 == 0 and {A} % 3 == 0", f"{A} % 2 == 0 and {A} % 3 == 0"),
    ],
)
def test_a_condition_is_put_simply(text: str, simple: str) -> None:
    assert plain(text) == simple
    for a in range(12):
        for b in range(6):
            assert read(simple).holds({A: a, B: b}) is read(text).holds({A: a, B: b})


@pytest.mark.parametrize(
    ("text", "given"),
    [
        (f"{A} == 8 * ({A} // 8)", [f"{A} % 8 == 0"]),
        (f"{A} == {C}", [f"{A} == {B}", f"{B} == {C}"]),
        (f"{A} <= 12", [f"{A} <= {B}", f"{B} < 13"]),
        (f"{A} % 2 == 0", [f"{A} % 8 == 4"]),
        (f"{A} * {B} >= 0", []),
        (f"max(0, {A} - 1) == max(0, {A} - min(1, {A}))", []),
        (f"{A} * {C} == {B} * {C}", [f"{A} == {B}"]),
        (f"{A} * 12 == 12 * {B} * {A}", [f"{B} == 1"]),
        (f"{A} == 0", [f"{A} == 0", *(f"{A} >= {n} or {B} <= {n} or {C} == {n}" for n in range(1, 8))]),
    ],
)
def test_what_follows_is_proved(text: str, given: list[str]) -> None:
    assert follows(text, given)


@pytest.mark.parametrize(
    ("text", "product"),
    [
        (f"{A} * {B} == 32", True),
        (f"{A} * {B} == 8 * {C}", False),
        (f"{A} + {B} == 32", False),
        (f"{A} * {B} >= 3", False),
        (f"8 * {A} == 32", False),
    ],
)
def test_a_product_that_is_one_number(text: str, product: bool) -> None:
    assert is_product(text) is product


@pytest.mark.parametrize(
    ("text", "given", "simple"),
    [
        (f"{A} * min(4, {B}) == 4 * {A}", [f"{B} >= 4"], f"{A} * 4 == 4 * {A}"),
        (f"max({A}, {B}, 1) == {C}", [f"{A} >= {B}", f"{A} > 0"], f"{A} == {C}"),
        (f"{C} == max(0, {A} - 3)", [f"{A} >= 3"], f"{C} == {A} - 3"),
        (f"min({A}, {B}) == {C}", [f"{A} == {B}"], f"{B} == {C}"),
        (f"{A} == min(4, max(1, {B}))", [f"{B} >= 2"], f"{A} == min(4, {B})"),
        (f"{A} == min(4, {B})", [f"{B} >= 3"], f"{A} == min(4, {B})"),
    ],
)
def test_an_operand_that_is_never_the_answer_is_left_out(text: str, given: list[str], simple: str) -> None:
    assert without_extremes(text, given) == simple


@pytest.mark.parametrize(
    ("text", "given"),
    [
        (f"{A} % 8 == 0", [f"{A} % 4 == 0"]),
        (f"{A} == {C}", [f"{A} == {B}"]),
        (f"{A} <= 12", [f"{A} <= 13"]),
        (f"{A} * {B} >= 1", [f"{A} >= 1"]),
    ],
)
def test_what_does_not_follow_is_not_proved(text: str, given: list[str]) -> None:
    assert not follows(text, given)
    found = find([*given, negated(text)], {A: 4, B: 4, C: 4})
    assert found.sizes is not None
    assert read(text).holds(found.sizes) is False
    assert all(read(one).holds(found.sizes) for one in given)


def test_what_comes_again_and_again_is_no_range() -> None:
    assert ranges_of(f"{A} % 8 >= 5") == ()
    assert not refuted([f"{A} // 10 // 10 >= 100"])


def test_sizes_are_found_through_equations() -> None:
    found = find([f"{A} % 8 == 3", f"{B} == 2 * {A} + 1", f"{B} > 300"], {A: 3, B: 4})
    assert found.sizes is not None
    assert found.sizes[B] == 2 * found.sizes[A] + 1 > 300


@pytest.mark.parametrize(
    "wanted",
    [
        [f"{A} % 8 == 0", f"{A} > 100"],
        [f"{A} % 8 == 0", f"{A} // 8 > 10"],
        [f"{A} % 6 == 0", f"{A} % 4 == 0", f"{A} >= 100", f"{B} == 3 * {A}"],
        [f"{A} == {B}", f"{B} % 16 == 8", f"{A} > 1000"],
    ],
)
def test_sizes_are_found_for_conditions_together(wanted: list[str]) -> None:
    found = find(wanted, {A: 3, B: 4})
    assert found.sizes is not None
    assert all(read(one).holds(found.sizes) for one in wanted)


def test_that_there_are_no_such_sizes_is_proved() -> None:
    found = find([f"{A} % 4 == 1", f"{A} % 2 == 0"], {A: 3})
    assert found.sizes is None
    assert found.proved
    assert refuted([f"{A} < {B}", f"{B} < {A}"])


@pytest.mark.parametrize(
    ("text", "ranges"),
    [
        (f"{A} > 6", ("7..",)),
        (f"{A} <= 6", ("0..6",)),
        (f"{A} == 1", ("1",)),
        (f"{A} != 1", ("0", "2..")),
        (f"{A} % 8 == 0", ("multiples of 8",)),
        (f"{A} // 4 >= 3", ("12..",)),
        (f"{A} == {B}", ()),
        (f"{A} // 10 // 10 >= 100", ("10000..",)),
        (f"3 * ({A} // 7) > {A} // 3 + 90", ("952..953", "959..962", "966..971", "973..")),
    ],
)
def test_ranges(text: str, ranges: tuple[str, ...]) -> None:
    assert ranges_of(text) == ranges
