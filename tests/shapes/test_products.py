"""Conditions over products and quotients in simpler words: the same sizes satisfy them, and what is wanted is said."""

from __future__ import annotations

import itertools

import pytest

from ddelint.shapes.facts import read
from ddelint.shapes.products import is_multiple_of_known, simpler

A, B, C, D = (f"{name}.shape[0]" for name in "abcd")
POSITIVE = [f"{name} >= 1" for name in (A, B, C, D)]


@pytest.mark.parametrize(
    ("text", "given", "wanted", "when"),
    [
        (f"{A} * {B} == {C} * {A} * {B}", POSITIVE, (f"{C} == 1",), ()),
        (f"3 * {A} * {B} == {C} * {A} * {B}", POSITIVE, (f"{C} == 3",), ()),
        (f"3 * {A} * {B} == {C} * {A} * {B}", [f"{A} >= 1"], (f"{C} == 3",), (f"{B} >= 1",)),
        (f"{B} == 4 * ({B} // 4)", POSITIVE, (f"{B} % 4 == 0",), ()),
        (f"{A} * {B} % (4 * {A}) == 0", POSITIVE, (f"{B} % 4 == 0",), ()),
        (
            f"{A} * {B} * {C} == 6 * {A} * ({B} // 2) * ({C} // 3)",
            [],
            (f"{B} % 2 == 0", f"{C} % 3 == 0"),
            (f"{A} >= 1", f"{B} >= 1", f"{C} >= 1"),
        ),
        (f"{A} * {B} // (4 * {C}) == 2", [*POSITIVE, f"{A} * {B} % (4 * {C}) == 0"], (f"{A} * {B} == 8 * {C}",), ()),
        (
            f"2 * {C} * {D} * ({A} * {B} // (2 * {C})) == 6 * {C} * {D}",
            [*POSITIVE, f"{A} * {B} % (2 * {C}) == 0"],
            (f"{A} * {B} == 6 * {C}",),
            (),
        ),
        (f"{B} * (4 * ({A} // 4) + 4) == 32 * ({A} // 4) + 32", [], (f"{B} == 8",), ()),
        (f"{A} * {B} == 32 * ({A} // 4)", [f"{A} % 4 == 0"], (f"{B} == 8",), (f"{A} >= 1",)),
        (f"{B} == 4 * ({B} // 4)", [*POSITIVE, f"{B} % 4 == 0"], (), ()),
    ],
)
def test_the_same_in_simpler_words(text: str, given: list[str], wanted: tuple[str, ...], when: tuple[str, ...]) -> None:
    found = simpler(text, given, lambda name: f"{name} >= 1" in given)
    assert found is not None
    assert set(found.texts) == set(wanted)
    assert set(found.when) == set(when)
    for values in itertools.product((0, 1, 2, 3, 4, 6, 8), repeat=4):
        sizes = dict(zip((A, B, C, D), values))
        if all(read(one).holds(sizes) for one in given) and read(text).holds(sizes) is not None:
            said = not all(read(one).holds(sizes) for one in when) or all(read(one).holds(sizes) for one in wanted)
            assert said is read(text).holds(sizes), sizes


@pytest.mark.parametrize(
    "text",
    [
        f"{A} == {B}",  # nothing to cancel
        f"{A} * {B} == {C} * {D}",
        f"{A} * {B} == 6 * ({A} // 2) * ({B} // 2)",  # the numbers do not fit
        f"{A} * {B} == 4 * ({A} // 2) * ({C} // 2)",  # nor do the sizes
        f"{A} // 4 == 2",  # not known to be a multiple
        f"{A} * {B} <= {C}",
        f"{A} * ({B} // 2 - 1) == 8 * ({B} // 2 - 1)",  # may be zero
    ],
)
def test_what_is_as_simple_as_it_gets(text: str) -> None:
    found = simpler(text, POSITIVE, lambda name: True)
    for values in itertools.product((1, 2, 3, 4, 6, 8), repeat=4) if found is not None else ():
        sizes = dict(zip((A, B, C, D), values))
        assert all(read(one).holds(sizes) for one in found.texts) is read(text).holds(sizes)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("text", "given", "follows"),
    [
        (f"{A} * {B} % (4 * {C}) == 0", f"{A} * {B} == 16 * {C}", True),
        (f"{A} * {B} * {D} % (4 * {C}) == 0", f"{A} * {B} * {D} == 8 * {C} * {C}", True),
        (f"{A} * {B} % (5 * {C}) == 0", f"{A} * {B} == 16 * {C}", False),
        (f"{A} * {B} % (4 * {D}) == 0", f"{A} * {B} == 16 * {C}", False),
        (f"{A} * {B} % (4 * {C}) == 0", f"{A} * {D} == 16 * {C}", False),
    ],
)
def test_a_multiple_that_an_equality_says_already(text: str, given: str, follows: bool) -> None:
    assert is_multiple_of_known(text, [given]) is follows
