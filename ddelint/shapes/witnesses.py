"""Sizes that satisfy conditions: a search over those values at which a condition can come out differently."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from ddelint.shapes.facts import Fact, Sizes, moduli_in, numbers_in, read
from ddelint.shapes.linear_forms import linear, refuted

LARGEST = 1 << 20
"""Sizes beyond are not proposed: nobody could run them."""
_MOST_STEPS = 30_000
_SMALL = (2, 3, 1, 0, 5, 4, 7)


@dataclass(frozen=True, slots=True)
class Found:
    """What a search came to: sizes; or none, `proved` where there are none at all."""

    sizes: Sizes | None
    proved: bool = False


def find(texts: Iterable[str], start: Sizes, most: int = LARGEST, steps: int = _MOST_STEPS) -> Found:
    """Sizes near `start` that satisfy all conditions, none above `most`; the search ends after so many steps."""
    wanted = list(dict.fromkeys(texts))
    facts = [read(text) for text in wanted]
    names = _ordered({name for fact in facts for name in fact.names}, facts)
    search = _Search(facts, dict(start), names, most, steps)
    found = search.run()
    if found is not None:
        return Found({**start, **found})
    return Found(None, proved=steps == _MOST_STEPS and refuted(wanted))


def _ordered(names: Iterable[str], facts: Sequence[Fact]) -> list[str]:
    """Dimensions that many conditions are about come first: the others follow from them."""
    return sorted(names, key=lambda name: (-sum(name in fact.names for fact in facts), name))


class _Search:
    """Depth first over the dimensions; a condition is tested once all its dimensions have a value."""

    def __init__(
        self, facts: Sequence[Fact], start: Mapping[str, int], names: Sequence[str], most: int, steps: int
    ) -> None:
        self._facts = facts
        self._start = start
        self._names = names
        self._most = most
        self._steps = 0
        self._most_steps = steps
        self._common = self._everywhere()

    def run(self) -> dict[str, int] | None:
        """The first assignment that satisfies everything, the start's own values first."""
        return self._extended({}, 0)

    def _extended(self, chosen: dict[str, int], depth: int) -> dict[str, int] | None:
        if depth == len(self._names):
            return dict(chosen)
        name = self._names[depth]
        for value in self._candidates(name, chosen):
            self._steps += 1
            if self._steps > self._most_steps:
                return None
            chosen[name] = value
            if self._is_consistent(name, chosen):
                found = self._extended(chosen, depth + 1)
                if found is not None:
                    return found
            del chosen[name]
        return None

    def _is_consistent(self, name: str, chosen: Mapping[str, int]) -> bool:
        return all(fact.holds(chosen) for fact in self._facts if name in fact.names and fact.names <= chosen.keys())

    def _candidates(self, name: str, chosen: Mapping[str, int]) -> list[int]:
        values = dict.fromkeys([self._start[name]] if name in self._start else [])
        values |= dict.fromkeys(value for fact in self._facts for value in _borders(fact, name, chosen))
        values |= dict.fromkeys(chosen.values())
        values |= dict.fromkeys(self._common)
        return [value for value in values if 0 <= value <= self._most]

    def _everywhere(self) -> list[int]:
        constants = sorted(numbers_in(self._facts))
        moduli = sorted(moduli_in(self._facts))
        steps = [*moduli, math.lcm(1, *moduli)]
        beyond = [c // m * m + n * m for c in constants for m in steps for n in (1, 0, 2)]
        scaled = [(c + n) * m for c in constants for m in moduli for n in (0, 1)]
        near = [constant + step for constant in constants for step in (0, 1, -1)]
        multiples = [modulus * times for modulus in moduli for times in (1, 2, 3, 4)]
        offset = [value + step for value in multiples for step in (1, -1)]
        remaining = [value + rest for value in beyond for rest in constants if 0 < rest < max(steps)]
        return [*_SMALL, *multiples, *near, *offset, *beyond, *scaled, *remaining]


def _borders(fact: Fact, name: str, chosen: Mapping[str, int]) -> list[int]:
    """The values of one dimension where a linear condition changes its answer, given those of the others."""
    if name not in fact.names or not fact.names <= chosen.keys() | {name}:
        return []
    found = linear(fact)
    if found is None:
        return []
    difference, _ = found
    factor = difference.factors.get(name, Fraction(0))
    if not factor:
        return []
    rest = difference.constant + sum(
        value * chosen[other] for other, value in difference.factors.items() if other != name
    )
    border = -rest / factor
    low, high = math.floor(border), math.ceil(border)
    return list(dict.fromkeys((low, high, low + 1, low - 1, high + 1)))
