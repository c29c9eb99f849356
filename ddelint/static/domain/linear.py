"""Numbers as linear forms over integer symbols, and comparisons of them."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from itertools import count

from ddelint.nouns.comparisons import OPPOSITE

SERIALS = count(1)
"""Each symbol, tensor and outline has a number that no other has."""


@dataclass(slots=True, unsafe_hash=True)
class Linear:
    """`sum(coefficient * symbol) + constant` over integer symbols; terms are sorted by symbol."""

    terms: tuple[tuple[int, int], ...]
    constant: int = 0

    @classmethod
    def of(cls, symbol: int) -> Linear:
        """The form that is one symbol."""
        return cls(((symbol, 1),))

    def plus(self, other: Linear, factor: int = 1) -> Linear:
        """`self + factor * other`."""
        terms = dict(self.terms)
        for symbol, coefficient in other.terms:
            terms[symbol] = terms.get(symbol, 0) + factor * coefficient
        kept = tuple(sorted((s, c) for s, c in terms.items() if c))
        return Linear(kept, self.constant + factor * other.constant)

    def times(self, factor: int) -> Linear:
        """`factor * self`."""
        return Linear(()).plus(self, factor)


def fresh_symbol() -> int:
    """A symbol that no other value has."""
    return next(SERIALS)


@dataclass(slots=True, unsafe_hash=True)
class Comparison:
    """`left OPERATOR right` as a linear form compared with zero."""

    difference: Linear
    operator: type[ast.cmpop]

    def negated(self) -> Comparison:
        """The opposite comparison."""
        return Comparison(self.difference, OPPOSITE[self.operator])
