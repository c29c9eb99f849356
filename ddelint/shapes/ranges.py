"""Values of one size as ranges: `0..6`, `129..`, `multiples of 8`."""

from __future__ import annotations

from collections.abc import Iterable

from ddelint.shapes.counting import values_to_try
from ddelint.shapes.facts import moduli_in, read

_MOST_RANGES = 6


def ranges_of(text: str) -> tuple[str, ...]:
    """The values of the one size in a condition for which it holds; empty where it is about several."""
    fact = read(text)
    if len(fact.names) != 1:
        return ()
    name = next(iter(fact.names))
    tried = values_to_try([fact.node])
    if tried is None:
        return ()
    moduli, last = moduli_in([fact]), sum(tried) - 1
    holding = [value for value in range(last + 1) if fact.holds({name: value})]
    if moduli:
        found = set(holding)
        for modulus in sorted(moduli):
            if found == set(range(0, last + 1, modulus)):
                return (f"multiples of {modulus}",)
            if found == {value for value in range(last + 1) if value % modulus}:
                return (f"no multiple of {modulus}",)
    runs = list(_runs(holding))
    if len(runs) > _MOST_RANGES or (runs and runs[-1][1] == last and runs[-1][0] > tried[0]):
        return ()  # the last run comes again in each period
    return tuple(f"{low}.." if high == last else str(low) if low == high else f"{low}..{high}" for low, high in runs)


def _runs(values: Iterable[int]) -> Iterable[tuple[int, int]]:
    low = high = None
    for value in values:
        if high is not None and value == high + 1:
            high = value
            continue
        if low is not None and high is not None:
            yield low, high
        low = high = value
    if low is not None and high is not None:
        yield low, high
