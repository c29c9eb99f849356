"""Inputs for sides that no variation takes: the distance to a side, and the way there."""

from __future__ import annotations

import ast
import math
import textwrap
from collections.abc import Callable

import pytest
import torch
from test_eager import decision

from ddelint.nouns.protocol import Comparison, SessionOptions
from ddelint.trace.entry import Entry
from ddelint.verify.distances import difference, distance, parts_of
from ddelint.verify.eager import compare
from ddelint.verify.guided import Climb, Moved, Way, ways
from ddelint.verify.samples import Sample

Program = Callable[..., Entry]


def far(test: str, want: bool, **names: object) -> float:
    shape, parts = parts_of(ast.parse(test, mode="eval").body)
    assert shape is not None
    values = {}
    for number, part in enumerate(parts):
        sides = [
            eval(compile(ast.Expression(side), "", "eval"), {"torch": torch}, names)
            for side in (part.node.left, part.node.comparators[0])
        ]
        by = difference(*sides)
        if by is not None:
            values[number] = (part.sign, by)
    return distance(shape, values, want)


@pytest.mark.parametrize(
    ("test", "names", "true", "false"),
    [
        ("n > 4", {"n": 2}, 2, 0),
        ("n > 4", {"n": 4}, 0, 0),
        ("n > 4", {"n": 9}, 0, 5),
        ("n <= 4", {"n": torch.tensor(7)}, 3, 0),
        ("n == 4", {"n": 9}, 5, 0),
        ("n != 4", {"n": 9}, 0, 5),
        ("not n > 4", {"n": 9}, 5, 0),
        ("n > 4 and m > 10", {"n": 2, "m": 3}, 9, 0),
        ("n > 4 or m > 10", {"n": 2, "m": 3}, 2, 0),
        ("bool(n < 1)", {"n": 3}, 2, 0),
        ("(x == 3).all()", {"x": torch.tensor([1, 3, 7])}, 6, 0),
        ("(x == 3).any().item()", {"x": torch.tensor([1, 5, 7])}, 2, 0),
        ("torch.any(x > 3)", {"x": torch.tensor([1.0, 5.0, 7.0])}, 0, 6),
    ],
)
def test_how_far_a_test_is_from_each_side(test: str, names: dict[str, object], true: float, false: float) -> None:
    assert far(test, True, **names) == pytest.approx(true, abs=1e-6)
    assert far(test, False, **names) == pytest.approx(false, abs=1e-6)


@pytest.mark.parametrize("sign", [">", ">=", "<", "<=", "==", "!="])
@pytest.mark.parametrize("value", [-2.5, -0.0, 0.0, 1e-9, 3.0, math.inf, math.nan])
def test_of_one_number_it_is_as_far_as_of_one_element(sign: str, value: float) -> None:
    for want in (True, False):
        assert far(f"n {sign} 0", want, n=value) == far(
            f"n {sign} 0", want, n=torch.tensor([value], dtype=torch.float64)
        )


@pytest.mark.parametrize("sign", [">", ">=", "<", "<=", "==", "!="])
@pytest.mark.parametrize("n", [3, 4.0, 5, math.nan, math.inf, True])
def test_one_number_is_as_far_as_a_tensor_that_holds_it(sign: str, n: float) -> None:
    for want in (True, False):
        apart, together = far(f"n {sign} 4", want, n=n), far(f"(n {sign} 4).all()", want, n=torch.tensor([n]).double())
        assert apart == together


def test_what_is_no_number_tells_nothing() -> None:
    assert difference("a", "b") is None
    assert far("n > 4", True, n=None) == math.inf
    assert parts_of(ast.parse("mask.any()", mode="eval").body)[0] is None
    assert math.isinf(far("n > 4", True, n=math.nan))


def test_a_climb_ends_where_the_distance_is_zero_or_the_runs_are_spent() -> None:
    way = Way(0, "n", "all", 1, True)
    seen: list[float] = []

    def evaluate(moved: Moved) -> float:
        seen.append(sum(amount for _, amount in moved.steps))
        return abs(seen[-1] - 13)

    assert Climb(13, evaluate, 48).run([way]) == Moved(((way, 13),))
    assert len(seen) < 20
    assert Climb(13, evaluate, 3).run([way]) is None


def test_a_moved_input_is_named_and_made_anew_each_time() -> None:
    given = Sample("seed 0", True, lambda: ((torch.tensor([True, False, False]), torch.ones(2)), {}))
    mask, add, scale, *elements = ways(given, ("mask", "x"))
    assert [way.element for way in elements] == [0, 1]
    moved = Moved(((mask, 1), (add, 0.5), (scale, 2)))(given)

    assert moved.label == "seed 0, mask with +1 true, x +0.5, x times 2**+2"
    for _ in range(2):
        args, _ = moved.make()
        assert args[0].tolist() == [True, True, False]
        assert args[1].tolist() == [6.0, 6.0]
    corner = Moved(((elements[1], -3),))(given)
    assert corner.label == "seed 0, x -3 at element 1"
    assert corner.make()[0][1].tolist() == [1.0, -2.0]


PROGRAMS = {
    "a number of kept rows that no variation has": ("keep.sum() == 7", "keep.sum() == 7"),
    "a sum between two bounds": ("23.5 < total and total < 24.5", "23.5 < total and total < 24.5"),
    "a number read from data": ("n >= 41", "n >= 41"),
    "an element with one value": ("(ids == 29).any()", "(ids == 29).any()"),
    "two corners of a box": ("int(box[2].item() - box[0].item()) == 9", "int(box[2].item() - box[0].item()) == 9"),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", PROGRAMS)
def test_a_side_that_no_variation_takes_is_reached(case: str, program: Program, options: SessionOptions) -> None:
    test, text = PROGRAMS[case]
    original = f"""
    def fn(x, keep, level, ids, box):
        total = x.sum()
        n = level.item()
        if {test}:
            return x + 1
        return x


    def make_inputs(seed):
        g = torch.Generator().manual_seed(seed)
        x, keep = torch.rand(20, generator=g), torch.rand(20, generator=g) > 0.9
        return x, keep, torch.tensor(3), torch.randint(0, 9, (4,), generator=g), torch.rand(4, generator=g)
    """

    def judged(rewritten: str) -> Comparison:
        first = program(textwrap.dedent(original))
        second = program(textwrap.dedent(rewritten))
        return compare(first, lambda: second, (decision(first, text),), options, 24, False)

    right = judged(original)
    assert right.equal
    assert right.mismatches == ()
    assert right.sides["d"][0]

    wrong = judged(original.replace("return x + 1", "return x + 2"))
    assert not wrong.equal


def test_a_side_that_cannot_be_reached_stays_unreached(program: Program, options: SessionOptions) -> None:
    entry = program(
        """
        def fn(x):
            if x.abs().sum() < -1:
                return x + 1
            return x


        def make_inputs(seed):
            return (torch.ones(3),)
        """
    )
    found = compare(entry, lambda: entry, (decision(entry, "x.abs().sum() < -1"),), options, 24, False)
    assert found.sides["d"][0] == 0
    assert found.sides["d"][1] == found.samples
