"""Linear forms, what is known of them, and how values join."""

from __future__ import annotations

import ast
import math

import pytest

from ddelint.static.domain.facts import Facts
from ddelint.static.domain.joining import join
from ddelint.static.domain.values import (
    KNOWN,
    NONE,
    UNKNOWN,
    Comparison,
    Constant,
    Linear,
    Optional,
    Tensor,
    Unbacked,
    series,
)

N, M = Linear.of(10**9), Linear.of(10**9 + 1)
ONE = Linear((), 1)
BIRTH = ast.Name("n", ast.Load())


def at_least(form: Linear, low: int) -> Comparison:
    return Comparison(form.plus(Linear((), low), -1), ast.GtE)


def test_forms_add_and_cancel() -> None:
    assert N.plus(M).plus(N, -1) == M
    assert N.plus(N, -1) == Linear(())
    assert N.times(2).plus(ONE).constant == 1


def test_bounds_scale_and_add() -> None:
    facts = Facts()
    facts.learn_bounds(N, (0, 4))
    facts.learn_bounds(M, (1, math.inf))
    assert facts.bounds(N.times(2).plus(ONE)) == (1, 9)
    assert facts.bounds(N.plus(M, -1)) == (-math.inf, 3)


@pytest.mark.parametrize(
    ("known", "asked", "verdict"),
    [(4, 2, True), (2, 4, None), (4, 4, True)],
)
def test_a_bound_answers_what_follows_from_it(known: int, asked: int, verdict: bool | None) -> None:
    facts = Facts()
    facts.learn(at_least(N, known))
    assert facts.decide(at_least(N, asked)) is verdict


def test_relations_of_two_symbols_are_kept() -> None:
    facts = Facts()
    facts.learn(Comparison(N.plus(M, -1), ast.LtE))
    assert facts.decide(Comparison(M.plus(N, -1), ast.GtE)) is True
    assert facts.decide(Comparison(N.plus(M, -1).plus(ONE, -1), ast.Gt)) is False
    assert facts.decide(Comparison(N.plus(M, -1), ast.Lt)) is None


def test_not_zero_says_nothing_of_the_sign() -> None:
    facts = Facts()
    facts.learn_bounds(N, (0, math.inf))
    facts.learn(Comparison(N, ast.NotEq))
    assert facts.decide(Comparison(N, ast.Eq)) is False
    assert facts.decide(Comparison(N, ast.Gt)) is None


def test_only_what_holds_on_both_paths_is_common() -> None:
    left, right = Facts(), Facts()
    left.learn_bounds(N, (2, 5))
    right.learn_bounds(N, (4, 9))
    left.learn_bounds(M, (0, 1))
    both = left.common(right)
    assert both.bounds(N) == (2, 9)
    assert both.bounds(M) == (-math.inf, math.inf)


def test_a_copy_is_independent() -> None:
    facts = Facts()
    other = facts.copy()
    other.learn_bounds(N, (0, 1))
    assert facts.bounds(N) == (-math.inf, math.inf)


def test_joins_keep_what_asks() -> None:
    number = Unbacked("number", BIRTH, N)
    assert isinstance(join(number, KNOWN), Unbacked)
    assert join(number, NONE) == Optional(number)
    assert join(KNOWN, UNKNOWN) == UNKNOWN
    assert join(Constant(1), Constant(2)) == KNOWN
    assert join(Constant(1), NONE) == UNKNOWN


def test_joined_tensors_share_what_both_have() -> None:
    size = Unbacked("size", BIRTH, N)
    first = Tensor((size, Constant(3)), True, True)
    second = Tensor((size, Constant(4)), True, True)
    joined = join(first, second)
    assert isinstance(joined, Tensor)
    assert joined.dims[0] == size
    assert joined.boolean is True
    assert isinstance(join(first, UNKNOWN), Tensor)
    assert isinstance(join(first, KNOWN), Tensor)


def test_runs_of_different_length_lose_their_items() -> None:
    joined = join(series((KNOWN,)), series((KNOWN, Tensor())))
    assert getattr(joined, "items", ()) is None
