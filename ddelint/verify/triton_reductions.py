"""Reductions and scans by a kernel's own function, many pairs at a time: Triton's interpreter takes element by element.

Going pairwise, as a GPU does, is as good as going in order: Triton asks for functions that are associative, and has
blocks of powers of two alone.
"""

from __future__ import annotations

from typing import Any

import numpy

from ddelint.verify import triton_operations


def reduce(self: Any, given: tuple[Any, ...]) -> list[Any]:
    """What `ReduceOps.generic_reduce` gives: a tensor for each of `given`, combined along the axis."""
    axis = self.axis
    data = [one.handle.data if axis is not None else one.handle.data.ravel() for one in given]
    rank = given[0].handle.data.ndim
    at = axis if axis is not None else 0
    while data[0].shape[at] > 1:
        data = _combine(self, given, *(_part(data, at, slice(start, None, 2)) for start in (0, 1)))
    kept = [one if self.keep_dims else one.squeeze(at) for one in data]
    if axis is None and self.keep_dims:
        kept = [one.reshape((1,) * rank) for one in kept]
    return [self.to_tensor(one if one.shape else one.item(), old.dtype) for one, old in zip(kept, given)]


def scan(self: Any, given: tuple[Any, ...]) -> list[Any]:
    """What `ScanOps.generic_scan` gives: a tensor for each of `given`, with what was combined so far along the axis."""
    found = _scanned(self, given, [one.handle.data for one in given])
    return [self.to_tensor(one, old.dtype) for one, old in zip(found, given)]


def _scanned(self: Any, given: tuple[Any, ...], data: list[Any]) -> list[Any]:
    """Pairs are combined and scanned; each second element is a pair's, and the next one adds its own to it."""
    axis = self.axis
    if data[0].shape[axis] == 1:
        return data
    even, odd = _part(data, axis, slice(0, None, 2)), _part(data, axis, slice(1, None, 2))
    pairs = _scanned(self, given, _combine(self, given, even, odd))
    with triton_operations.uncounted():  # the last one is nobody's: blocks have powers of two
        between = _combine(self, given, pairs, [numpy.roll(one, -1, axis) for one in even])
    found = [one.copy() for one in data]
    for one, ends, middle in zip(found, pairs, between):
        (at_ends,), (at_middle,) = (_part([one], axis, slice(start, None, 2)) for start in (1, 2))
        at_ends[...] = ends
        at_middle[...] = _part([middle], axis, slice(0, -1))[0]
    return found


def _part(data: list[Any], axis: int, part: slice) -> list[Any]:
    """That part of each array along the axis."""
    return [one[(slice(None),) * axis + (part,)] for one in data]


def _combine(self: Any, given: tuple[Any, ...], left: list[Any], right: list[Any]) -> list[Any]:
    """The kernel's function of two blocks of values."""
    blocks = [
        self.to_tensor(numpy.ascontiguousarray(one), old.dtype)
        for side in (left, right)
        for one, old in zip(side, given)
    ]
    found = self.combine_fn.fn(*blocks)
    return [
        numpy.broadcast_to(one.handle.data, first.shape).astype(first.dtype)
        for one, first in zip(found if isinstance(found, tuple) else (found,), left)
    ]
