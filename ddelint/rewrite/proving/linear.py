"""Linear inequalities over integers: whether some follow from others, by Fourier-Motzkin elimination.

Enough for facts about sizes (`a <= b`, `b <= c`, so `a <= c`), which torch's own reasoning takes one at a time.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

_MOST = 400
"""Inequalities that one elimination may come to; beyond, nothing is claimed."""


@dataclass(frozen=True)
class Sum:
    """A linear combination of integers that go by their names, and a constant."""

    factors: Mapping[str, Fraction]
    constant: Fraction = Fraction(0)

    def __add__(self, other: Sum) -> Sum:
        names = dict.fromkeys((*self.factors, *other.factors))
        added = {name: self.factors.get(name, Fraction(0)) + other.factors.get(name, Fraction(0)) for name in names}
        return Sum({name: factor for name, factor in added.items() if factor}, self.constant + other.constant)

    def __sub__(self, other: Sum) -> Sum:
        return self + other.times(Fraction(-1))

    def times(self, factor: Fraction) -> Sum:
        """Each term multiplied."""
        if not factor:
            return number(0)
        return Sum({name: value * factor for name, value in self.factors.items()}, self.constant * factor)


def number(value: int) -> Sum:
    """A constant."""
    return Sum({}, Fraction(value))


def name(text: str) -> Sum:
    """An integer that is not known."""
    return Sum({text: Fraction(1)})


@dataclass(frozen=True)
class AtLeastZero:
    """`sum >= 0`, and what it rests on."""

    sum: Sum
    reasons: frozenset[int] = frozenset()


def contradiction(given: Iterable[AtLeastZero]) -> frozenset[int] | None:
    """The reasons of inequalities that no integers satisfy together; None where none are found."""
    left = [_tightened(one) for one in given]
    while True:
        for one in left:
            if not one.sum.factors and one.sum.constant < 0:
                return one.reasons
        names = {name for one in left for name in one.sum.factors}
        if not names:
            return None
        left = _without(min(names, key=lambda name: (_pairs(left, name), name)), left)
        if len(left) > _MOST:
            return None


def _pairs(given: Sequence[AtLeastZero], name: str) -> int:
    above = sum(one.sum.factors.get(name, 0) > 0 for one in given)
    return above * sum(one.sum.factors.get(name, 0) < 0 for one in given)


def _without(name: str, given: Sequence[AtLeastZero]) -> list[AtLeastZero]:
    """What the inequalities say of the other names."""
    zero = Fraction(0)
    found = {_key(one): one for one in given if name not in one.sum.factors}
    for low in (one for one in given if one.sum.factors.get(name, zero) > 0):
        for high in (one for one in given if one.sum.factors.get(name, zero) < 0):
            both = low.sum.times(-high.sum.factors[name]) + high.sum.times(low.sum.factors[name])
            one = _tightened(AtLeastZero(both, low.reasons | high.reasons))
            known = found.get(_key(one))
            if known is None or len(one.reasons) < len(known.reasons):
                found[_key(one)] = one
    return list(found.values())


def _key(one: AtLeastZero) -> tuple[object, ...]:
    return tuple(sorted(one.sum.factors.items())), one.sum.constant


def _tightened(one: AtLeastZero) -> AtLeastZero:
    """Whole factors without a common divisor; the constant then rounds down, as the rest is an integer."""
    factors = one.sum.factors
    if not factors:
        return one
    whole = math.lcm(*(factor.denominator for factor in factors.values()))
    common = math.gcd(*(int(factor * whole) for factor in factors.values()))
    scaled = one.sum.times(Fraction(whole, common))
    return AtLeastZero(Sum(scaled.factors, Fraction(math.floor(scaled.constant))), one.reasons)
