"""Inputs for the side that none of the variations took: one argument at a time is moved to where the distance falls.

This is the alternating variable method (B. Korel, Automated software test data generation, 1990): a step that helps is
doubled, one that doesn't turns around, then it is the next argument's turn.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch.utils import _pytree as pytree

from ddelint.verify.inputs import is_integer, leaf_name
from ddelint.verify.samples import Sample, is_ordinary, with_leaves

Evaluate = Callable[["Moved"], float | None]
"""The distance after a run on the sample; None where the run says nothing."""


@dataclass(frozen=True)
class Way:
    """One way to change an argument by an amount."""

    leaf: int
    """Its place among the leaves of the arguments."""
    name: str
    kind: str
    """What is done with the amount: count, all, element, scale."""
    unit: float
    whole: bool
    """Whether only whole numbers make sense."""
    element: int = 0
    """Which one, in the tensor laid flat."""


@dataclass(frozen=True)
class Moved:
    """Amounts by which arguments are moved away from an input set. Zero amounts are left out."""

    steps: tuple[tuple[Way, float], ...]

    def __call__(self, sample: Sample) -> Sample:
        """The sample, moved."""

        def moved(leaves: list[Any]) -> list[Any]:
            for way, amount in self.steps:
                if way.leaf < len(leaves) and isinstance(leaves[way.leaf], torch.Tensor):
                    leaves[way.leaf] = _moved(leaves[way.leaf], way, amount)
            return leaves

        reported = ", ".join(
            f"{way.name} {_TEXTS[way.kind].format(amount=f'{amount:+g}', element=way.element)}"
            for way, amount in self.steps
        )
        return replace(sample, label=f"{sample.label}, {reported}", declared=False, make=with_leaves(sample, moved))


_TEXTS = {
    "count": "with {amount} true",
    "all": "{amount}",
    "element": "{amount} at element {element}",
    "scale": "times 2**{amount}",
}


_MOST_ELEMENTS = 16
"""Up to so many elements of a tensor are moved one by one (boxes, sizes, limits); of a larger one only the first."""


def _moved(tensor: torch.Tensor, way: Way, amount: float) -> torch.Tensor:
    flat = tensor.detach().clone().contiguous().reshape(-1)
    if way.kind == "count":
        wanted = (~flat if amount > 0 else flat).nonzero().reshape(-1)[: int(abs(amount))]
        flat[wanted] = amount > 0
    elif way.kind == "scale":
        flat = flat * 2.0**amount
    elif flat.numel():
        where = slice(way.element, way.element + 1) if way.kind == "element" else slice(None)
        flat[where] += amount if flat.is_floating_point() else int(amount)
    return flat.reshape(tensor.shape).requires_grad_(tensor.requires_grad)


def ways(sample: Sample, parameters: Sequence[str]) -> list[Way]:
    """What can be moved in an input set: masks and integers first. Raises what making it raises."""
    found: list[Way] = []
    paths, _ = pytree.tree_flatten_with_path(sample.make())
    for index, (path, value) in enumerate(paths):
        if not isinstance(value, torch.Tensor) or not is_ordinary(value) or not value.numel():
            continue
        name = leaf_name(path, parameters)
        if value.dtype is torch.bool:
            found.append(Way(index, name, "count", 1, True))
        elif is_integer(value):
            found += [Way(index, name, "all", 1, True), *_elements(index, name, value)]
        elif value.is_floating_point():
            found += [Way(index, name, "all", 0.25, False), Way(index, name, "scale", 1, False)]
            if value.numel() <= _MOST_ELEMENTS:
                found += _elements(index, name, value)
    return sorted(found, key=lambda way: not way.whole)


def _elements(index: int, name: str, value: torch.Tensor) -> Iterator[Way]:
    if value.numel() > 1:  # a single one is moved by `all`
        for element in range(value.numel() if value.numel() <= _MOST_ELEMENTS else 1):
            yield Way(index, name, "element", 1, is_integer(value), element)


class Climb:
    """Moves from one input set, as long as each brings the distance down."""

    def __init__(self, start: float, evaluate: Evaluate, budget: int) -> None:
        self._left = start
        self._evaluate = evaluate
        self._runs = budget
        self._amounts: dict[Way, float] = {}

    def run(self, found: Sequence[Way]) -> Moved | None:
        """The moves to where the distance is zero; None where it gets stuck or the budget of runs is spent."""
        for fineness in (1.0, 0.05):
            improved = True
            while improved and self._left > 0 and self._runs > 0:
                improved = False
                for way in found:
                    if fineness == 1.0 or not way.whole:
                        improved |= self._along(way, way.unit * fineness)
        return self._moved(self._amounts) if self._left == 0 else None

    def _along(self, way: Way, unit: float) -> bool:
        """Steps along one way that get longer as long as they help; whether any did."""
        improved = False
        for direction in (1, -1):
            step = unit
            while self._left > 0 and self._attempt(way, self._amounts.get(way, 0.0) + direction * step):
                improved = True
                step *= 2
        return improved

    def _attempt(self, way: Way, amount: float) -> bool:
        if self._runs <= 0:
            return False
        self._runs -= 1
        amounts = {**self._amounts, way: amount}
        reached = self._evaluate(self._moved(amounts))
        if reached is None or not reached < self._left:
            return False
        self._amounts, self._left = amounts, reached
        return True

    def _moved(self, amounts: dict[Way, float]) -> Moved:
        return Moved(tuple((way, amount) for way, amount in amounts.items() if amount))


def is_far(distance: float | None) -> bool:
    """Whether a distance says that there is some way to go, and that it can be gone."""
    return distance is not None and 0 < distance < math.inf
