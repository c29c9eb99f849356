"""Inputs at the edge of a decision: the number that it compares is the bound, or next to it.

Where a test is put in other words, it may come out otherwise there alone: integers of more than 24 bits in single
precision, 0.1 in single precision beside Python's, `>` for `>=`. What is summed up of floats is left alone: at the edge
its last digits decide, and they are anybody's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch.utils import _pytree as pytree

from ddelint.verify.guided import Moved, ways
from ddelint.verify.samples import Sample, is_ordinary, with_leaves

_MOST_WAYS = 6
"""Floats that are moved, and as many integers."""
_SLACK = 1e-8
"""By how much a distance between integers may be off: it has something between equal and unequal."""


def towards_the_edge(sample: Sample, parameters: Sequence[str], far: float) -> Iterator[Moved]:
    """Moves of single arguments by a distance: integers, and floats that hold one number."""
    whole, leaves = round(far), pytree.tree_leaves(sample.make())
    found = [way for way in ways(sample, parameters) if way.kind in ("all", "element")]
    single = [way for way in found if not way.whole and leaves[way.leaf].numel() == 1]
    for way in single[:_MOST_WAYS]:
        yield from (Moved(((way, amount),)) for amount in (far, -far))
    if whole > 1 and abs(far - whole) < _SLACK:
        for way in [way for way in found if way.whole][:_MOST_WAYS]:
            amounts = (float(whole), float(whole + 1), -float(whole), -float(whole + 1))
            yield from (Moved(((way, amount),)) for amount in amounts)


def is_of_floats(moved: Moved) -> bool:
    """Whether a float is moved."""
    return not all(way.whole for way, _ in moved.steps)


def others_doubled(moved: Moved) -> Callable[[Sample], Sample]:
    """The moved sample with all other floats twice as large: a test that compares the one alone stays as far."""
    held = {way.leaf for way, _ in moved.steps}

    def doubled(leaves: list[Any]) -> list[Any]:
        return [
            leaf * 2
            if place not in held and isinstance(leaf, torch.Tensor) and is_ordinary(leaf) and leaf.is_floating_point()
            else leaf
            for place, leaf in enumerate(leaves)
        ]

    def change(sample: Sample) -> Sample:
        at = moved(sample)
        return replace(at, make=with_leaves(at, doubled))

    return change
