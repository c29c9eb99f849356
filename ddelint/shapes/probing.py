"""A contract held against eager: sizes that it allows are drawn and run, and what they break is added to it.

Fake kernels do not check everything that real ones do (a mask's rows against those of the scores, say).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from time import monotonic

from ddelint.shapes.facts import Sizes, dimension_of, negated, read
from ddelint.shapes.linear_forms import follows
from ddelint.shapes.witnesses import find

DRAWN = 24
_ROUNDS = 8
_SECONDS = 15.0
_STEPS = 1500
"""Of the search for one draw."""
_OF_A_KIND = 4
"""Sizes that are run to see whether a condition is what decides."""
_VALUES = (1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 0, 17, 24, 32)

Runs = Callable[[Sizes], str]
"""What eager raises for inputs of such sizes; empty where it returns."""


@dataclass(slots=True)
class Probed:
    """What running in eager added."""

    facts: dict[str, tuple[str, Sizes]] = field(default_factory=dict)
    """Condition → what was raised where it does not hold, and the sizes."""
    unexplained: dict[str, Sizes] = field(default_factory=dict)
    """What was raised for sizes that the contract allows, and no simple condition explains."""
    about_values: dict[str, Sizes] = field(default_factory=dict)
    """Errors of the values that the example's inputs hold: an index beyond what is there."""
    drawn: int = 0
    cut: bool = False
    """Whether time, or the number of rounds, ended it."""


class _TimeIsOver(Exception):
    pass


def probe(conditions: Sequence[str], example: Sizes, runs: Runs, seed: int = 0) -> Probed:
    """Draw sizes that satisfy all conditions, run each, and look for the condition behind what is raised."""
    probed = Probed()
    deadline = monotonic() + _SECONDS

    def runs_in_time(sizes: Sizes) -> str:
        if monotonic() > deadline:
            raise _TimeIsOver
        return runs(sizes)

    try:
        probed.cut = not _is_explained(probed, list(conditions), example, runs_in_time, seed)
    except _TimeIsOver:
        probed.cut = True
    return probed


def _is_explained(probed: Probed, known: list[str], example: Sizes, runs: Runs, seed: int) -> bool:
    """Whether nothing is raised any more that is not noted; each condition found is one of the `known` from then on."""
    for attempt in range(_ROUNDS):
        failed = None
        for sizes in chain(_edges(known, example), draws(known, example, DRAWN, seed + attempt)):
            error = runs(sizes)
            probed.drawn += 1
            if is_about_values(error):
                probed.about_values.setdefault(error, sizes)
            elif error and not any(same_error(error, one) for one in probed.unexplained):
                failed = (sizes, error)
                break
        if failed is None:
            return True
        sizes, error = failed
        fact = _explaining(sizes, known, example, runs)
        if fact is None:
            probed.unexplained[error] = sizes
        else:
            probed.facts[fact] = (error, sizes)
            known.append(fact)
    return False


def _edges(conditions: Sequence[str], example: Sizes) -> Iterator[Sizes]:
    """Sizes that satisfy all conditions where one is 0 or 1, and the others are as near to the example's as can be."""
    for name in example:
        for edge in (0, 1):
            found = find([*conditions, f"{name} == {edge}"], example, most=1 << 10, steps=_STEPS)
            if found.sizes is not None:
                yield {one: found.sizes[one] for one in example}


def draws(
    conditions: Sequence[str], example: Sizes, count: int, seed: int, values: Sequence[int] = _VALUES
) -> Iterator[Sizes]:
    """Different sizes that satisfy all conditions, the smallest and the example's among them.

    The search for each begins at some of `values`.
    """
    random_ = random.Random(seed)
    seen: set[tuple[int, ...]] = set()
    for _ in range(4 * count):
        start = {name: random_.choice(values) for name in example}
        found = find(conditions, start, most=1 << 10, steps=_STEPS)
        if found.sizes is None:
            found = find(conditions, {**start, **_some(example, random_)}, most=1 << 10, steps=_STEPS)
        key = tuple((found.sizes or {}).get(name, -1) for name in example)
        if found.sizes is not None and key not in seen:
            seen.add(key)
            yield {name: found.sizes[name] for name in example}
            if len(seen) >= count:
                return


def violations(conditions: Sequence[str], example: Sizes, count: int, seed: int) -> Iterator[Sizes]:
    """Different sizes that do not satisfy all conditions, most of them by one size only."""
    random_ = random.Random(seed)
    facts = [read(text) for text in conditions]
    seen: set[tuple[int, ...]] = set()
    for _ in range(20):
        for base in draws(conditions, example, 2 * count, random_.randrange(1 << 30)):
            name = random_.choice(list(example))
            sizes = {**base, name: max(0, base[name] + random_.choice((1, -1, 2, 5, -3)))}
            if random_.random() < 0.2:
                sizes = {one: random_.choice(_VALUES) for one in example}
            key = tuple(sizes.values())
            if key not in seen and any(fact.holds(sizes) is False for fact in facts):
                seen.add(key)
                yield sizes
                if len(seen) >= count:
                    return


def is_about_values(error: str) -> bool:
    """Whether an error is the values', not the sizes': an index beyond what is there."""
    return error.startswith("IndexError") or "out of range" in error or "out of bounds" in error


def _some(example: Sizes, random_: random.Random) -> Mapping[str, int]:
    return {name: size for name, size in example.items() if random_.random() < 0.7}


def same_error(one: str, other: str) -> bool:
    """Whether two messages differ in numbers only."""
    return _without_digits(one) == _without_digits(other)


def _without_digits(text: str) -> str:
    return "".join(character for character in text if not character.isdigit())


def _explaining(sizes: Sizes, known: Sequence[str], example: Sizes, runs: Runs) -> str | None:
    """The first simple condition that these sizes break and others of their kind hold, and then nothing is raised."""
    facts = [*_at_least(sizes, known, example, runs), *_simple(sizes, example)]
    facts = [fact for fact in facts if not read(fact).holds(sizes) and read(fact).holds(example)]
    facts = [fact for fact in facts if not follows(fact, known)]
    for fact in facts:
        if _helps(fact, sizes, known, example, runs) and _decides(fact, known, example, runs):
            return fact
    for fact in facts:  # several conditions are missing at once: the first that helps these sizes
        if _helps(fact, sizes, known, example, runs) and not _is_too_strict(fact, known, example, runs):
            return fact
    return None


def _helps(fact: str, sizes: Sizes, known: Sequence[str], example: Sizes, runs: Runs) -> bool:
    """Whether nothing is raised any more for sizes near these that hold it."""
    found = find([*known, fact], sizes, most=1 << 10, steps=_STEPS)
    return found.sizes is not None and not runs({name: found.sizes[name] for name in example})


def _decides(fact: str, known: Sequence[str], example: Sizes, runs: Runs) -> bool:
    """Whether sizes that hold it, and all that is known, run, and those that break only it do not."""
    holding = draws([*known, fact], example, _OF_A_KIND, seed=1)
    return not any(runs(other) for other in holding) and not _is_too_strict(fact, known, example, runs)


def _is_too_strict(fact: str, known: Sequence[str], example: Sizes, runs: Runs) -> bool:
    """Whether sizes run that break it."""
    return any(not runs(other) for other in draws([*known, negated(fact)], example, _OF_A_KIND, seed=1))


def _at_least(sizes: Sizes, known: Sequence[str], example: Sizes, runs: Runs) -> Iterator[str]:
    """The least size that runs, of one size after the other: `x.shape[1] >= 5` for `lengths.max() <= x.shape[1]`."""
    for name in example:
        low, high = sizes[name], example[name]
        if not low < high or not _helps(f"{name} == {high}", sizes, known, example, runs):
            continue
        while high - low > 1:
            middle = (low + high) // 2
            enough = _helps(f"{name} == {middle}", sizes, known, example, runs)
            low, high = (low, middle) if enough else (middle, high)
        yield f"{name} >= {high}"


def _simple(sizes: Sizes, example: Sizes) -> Iterator[str]:
    names = list(example)
    for at, name in enumerate(names):
        for other in names[at + 1 :]:
            if example[name] == example[other] and dimension_of(name)[0] != dimension_of(other)[0]:
                yield f"{name} == {other}"
    yield from (f"{name} >= 1" for name in names if sizes[name] == 0)
    yield from (f"{name} == {example[name]}" for name in names)
    for at, name in enumerate(names):
        yield from (f"{name} <= {other}" for other in [*names[:at], *names[at + 1 :]])
