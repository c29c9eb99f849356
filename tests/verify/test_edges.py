"""At the bound of a comparison, and next to it, an input is run: there other words of a test come out otherwise."""

from __future__ import annotations

import textwrap
from collections.abc import Callable

import pytest
import torch
from test_eager import decision

from ddelint.nouns.protocol import Comparison, SessionOptions
from ddelint.trace.entry import Entry
from ddelint.verify.eager import compare
from ddelint.verify.edges import others_doubled, towards_the_edge
from ddelint.verify.samples import Sample

Program = Callable[..., Entry]

ORIGINAL = """
import torch


def fn(x, level, count, ids):
    if {test}:
        return x * 2
    return x / 2


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    level, count = torch.rand((), generator=g), torch.randint(0, 3 * 10**9, (), generator=g)
    return torch.randn(3, generator=g), level, count, torch.randint(0, 2 * 10**8, (9,), generator=g)
"""


def judged(program: Program, options: SessionOptions, test: str, rewritten: str) -> Comparison:
    first = program(textwrap.dedent(ORIGINAL.format(test=test)))
    second = program(textwrap.dedent(ORIGINAL.format(test=rewritten)))
    return compare(first, lambda: second, (decision(first, test),), options, 32, False)


@pytest.mark.parametrize(
    ("test", "other"),
    [
        ("level.item() < 0.7", "level < 0.7"),
        ("0.3 < level.item()", "0.3 < level"),
        ("level.item() > 0.1 and x.shape[0]", "level > 0.1 and x.shape[0]"),
        ("count.item() > 1e9", "count > 1e9"),
        ("count.item() > 1_000_000_000", "count > 999_999_999"),
        ("ids.sum().item() <= 987654321.0", "ids.sum() <= 987654321.0"),
        ("int(ids.max()) > 1e8 + 1", "ids.max() > 1e8 + 1"),
    ],
)
def test_what_differs_at_the_bound_alone_is_found(
    test: str, other: str, program: Program, options: SessionOptions
) -> None:
    assert judged(program, options, test, test).equal
    assert not judged(program, options, test, other).equal


@pytest.mark.parametrize("test", ["x.mean() > 0.1", "x.mean() > level", "(x * level).sum() > 1.1"])
def test_the_last_digits_of_a_sum_decide_nothing(test: str, program: Program, options: SessionOptions) -> None:
    summed_otherwise = test.replace("x.mean()", "x.flip(0).mean()").replace("(x * level)", "(level * x.flip(0))")
    assert judged(program, options, test, summed_otherwise).equal


def test_integers_and_single_floats_are_moved_by_the_distance() -> None:
    given = Sample("seed 0", True, lambda: ((torch.tensor(5), torch.tensor(0.5), torch.ones(3)), {}))
    names = ("n", "level", "x")
    far = [moved(given).label for moved in towards_the_edge(given, names, 7.0)]
    assert {"seed 0, n +7", "seed 0, n +8", "seed 0, n -7", "seed 0, n -8"} <= set(far)
    assert [label for label in far if ", x" in label] == []
    near = [moved(given).label for moved in towards_the_edge(given, names, 0.25)]
    assert near == ["seed 0, level +0.25", "seed 0, level -0.25"]


def test_all_but_what_is_moved_are_doubled() -> None:
    given = Sample("seed 0", True, lambda: ((torch.tensor(0.5), torch.ones(2), torch.tensor(3)), {}))
    moved = next(towards_the_edge(given, ("level", "x", "n"), 0.25))
    level, x, n = others_doubled(moved)(given).make()[0]
    assert (level.item(), x.tolist(), n.item()) == (0.75, [2.0, 2.0], 3)


@pytest.mark.parametrize(
    "raising", ["torch.empty(0).max()", "x @ torch.ones(7, 2)", "torch.cat((x, torch.ones(1, 2)))"]
)
def test_where_torch_raises_on_every_input_nothing_is_approached(
    raising: str, program: Program, options: SessionOptions
) -> None:
    always = ORIGINAL.format(test="level.item() < 0.7").replace("return x", f"return {raising} + x")
    first = program(textwrap.dedent(always))
    failure = compare(first, lambda: first, (decision(first, "level.item() < 0.7"),), options, 8, False).failure
    assert failure is not None
    assert "returns on no input" in failure.message
