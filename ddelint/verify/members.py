"""Lists, tuples and dictionaries of numbers, each with one of its numbers changed.

One at a time: all at once may come to another side of a decision, where what one of them is for does not show.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from torch.utils import _pytree as pytree

_CONTAINERS = (dict, list, tuple)
_PLAIN = (bool, float, int, str, type(None))


def places_of_numbers(value: object) -> Sequence[int]:
    """Where among the leaves of a float or a container the numbers stand that may be others: bools, floats, and
    integers that are zero (others may be sizes, or places)."""
    leaves = pytree.tree_leaves(value) if isinstance(value, (float, *_CONTAINERS)) else []
    changed = ((leaf, _other(leaf)) for leaf in leaves)
    return [place for place, (leaf, other) in enumerate(changed) if other is not leaf and other != leaf]


def with_other_number(value: object, place: int) -> object:
    """A copy of the value with the leaf at the place changed."""
    leaves, spec = pytree.tree_flatten(value)
    leaves[place : place + 1] = map(_other, leaves[place : place + 1])
    return pytree.tree_unflatten(leaves, spec)


def others_of(value: object) -> Sequence[object]:
    """A container that holds nothing but numbers and texts, with each of its numbers changed in turn; else none."""
    if not isinstance(value, _CONTAINERS) or not all(type(leaf) in _PLAIN for leaf in pytree.tree_leaves(value)):
        return ()
    return [with_other_number(value, place) for place in places_of_numbers(value)]


def is_container(value: object) -> bool:
    """Whether it may hold numbers."""
    return isinstance(value, _CONTAINERS)


def _other(leaf: Any) -> Any:
    """Zero, which hides what is multiplied with it or added, becomes one half, or one."""
    if type(leaf) is bool:
        return not leaf
    if type(leaf) is int:
        return leaf or 1
    return (leaf / 2 or 0.5) if type(leaf) is float and math.isfinite(leaf) else leaf
