"""What is known of symbols at a point of the program: bounds on linear forms, learned from checks and branches."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterable

from ddelint.static.domain.linear import Comparison, Linear

Bounds = tuple[float, float]
UNBOUNDED: Bounds = (-math.inf, math.inf)
NONNEGATIVE: Bounds = (0, math.inf)
_Key = tuple[tuple[int, int], ...]
MOST_FACTS = 1000
"""So many bounds are remembered, the latest; so many forms that are not zero, the first. Each state has a copy."""


class Facts:
    """Bounds on `sum(coefficient * symbol)`, keyed by normalised terms, and forms known not to be zero."""

    __slots__ = ("_bounds", "_nonzero")

    def __init__(self) -> None:
        self._bounds: dict[_Key, Bounds] = {}
        self._nonzero: frozenset[Linear] = frozenset()

    def copy(self) -> Facts:
        """An independent copy."""
        other = Facts()
        other._bounds = dict(self._bounds)
        other._nonzero = self._nonzero
        return other

    def older_than(self, serial: int) -> tuple[dict[_Key, Bounds], frozenset[Linear]]:
        """What is known of symbols up to `serial`: to see whether it has changed."""
        bounds = {key: bounds for key, bounds in self._bounds.items() if all(symbol <= serial for symbol, _ in key)}
        nonzero = frozenset(f for f in self._nonzero if all(symbol <= serial for symbol, _ in f.terms))
        return bounds, nonzero

    def learn_bounds(self, form: Linear, bounds: Bounds) -> None:
        """Narrow the bounds of `form`."""
        if not form.terms:
            return
        key, factor = _normalised(form)
        low, high = (bounds[0] - form.constant) / factor, (bounds[1] - form.constant) / factor
        if factor < 0:
            low, high = high, low
        old = self._bounds.get(key, UNBOUNDED)
        self._bounds[key] = (max(low, old[0]), min(high, old[1]))
        if len(self._bounds) > MOST_FACTS:
            del self._bounds[next(iter(self._bounds))]

    def bounds(self, form: Linear) -> Bounds:
        """Inclusive bounds of `form`."""
        low: float = form.constant
        high: float = form.constant
        for symbol, coefficient in form.terms:
            one = self._bounds.get(((symbol, 1),), UNBOUNDED)
            ends = (one[0] * coefficient, one[1] * coefficient)
            low, high = low + min(ends), high + max(ends)
        if len(form.terms) > 1:
            key, factor = _normalised(form)
            exact = self._bounds.get(key)
            if exact is not None:
                ends = (exact[0] * factor + form.constant, exact[1] * factor + form.constant)
                low, high = max(low, min(ends)), min(high, max(ends))
        return low, high

    def decide(self, comparison: Comparison) -> bool | None:
        """Whether the comparison holds; None where the facts don't say."""
        low, high = self.bounds(comparison.difference)
        operator = comparison.operator
        if operator in (ast.Eq, ast.NotEq):
            apart = low > 0 or high < 0 or comparison.difference in self._nonzero
            apart = apart or comparison.difference.times(-1) in self._nonzero
            if apart:
                return operator is ast.NotEq
            return operator is ast.Eq if low == high == 0 else None
        if operator is ast.Lt:
            return True if high < 0 else (False if low >= 0 else None)
        if operator is ast.LtE:
            return True if high <= 0 else (False if low > 0 else None)
        if operator is ast.Gt:
            return True if low > 0 else (False if high <= 0 else None)
        return True if low >= 0 else (False if high < 0 else None)

    def learn(self, comparison: Comparison) -> None:
        """Take the comparison as true from here on."""
        difference, operator = comparison.difference, comparison.operator
        if operator is ast.NotEq:
            # torch does not conclude n > 0 from n >= 0 and n != 0 either
            if len(self._nonzero) < MOST_FACTS:
                self._nonzero |= {difference}
            return
        limits: dict[type[ast.cmpop], Bounds] = {
            ast.Eq: (0, 0),
            ast.Lt: (-math.inf, -1),
            ast.LtE: (-math.inf, 0),
            ast.Gt: (1, math.inf),
            ast.GtE: (0, math.inf),
        }
        self.learn_bounds(difference, limits[operator])

    def common(self, other: Facts) -> Facts:
        """What holds on both of two paths."""
        if self is other:
            return self
        both = Facts()
        for key, (low, high) in self._bounds.items():
            theirs = other._bounds.get(key)
            if theirs is not None:
                both._bounds[key] = (min(low, theirs[0]), max(high, theirs[1]))
        both._nonzero = self._nonzero & other._nonzero
        return both


def _normalised(form: Linear) -> tuple[_Key, int]:
    """The terms divided by their common factor, first coefficient positive, and that factor."""
    divisor = math.gcd(*(coefficient for _, coefficient in form.terms))
    if form.terms[0][1] < 0:
        divisor = -divisor
    return tuple((symbol, coefficient // divisor) for symbol, coefficient in form.terms), divisor


def decide_all(facts: Facts, comparisons: Iterable[Comparison]) -> bool | None:
    """The conjunction of the comparisons under the facts."""
    verdict: bool | None = True
    for comparison in comparisons:
        one = facts.decide(comparison)
        if one is False:
            return False
        if one is None:
            verdict = None
    return verdict
