"""Which part of what a kernel computes is there, by the masks of what it loads and stores.

For kernels of which neither the grid nor the sizes say it: the program's own, several in one, templates of convolution
and attention. An estimate: of a product of two blocks that were loaded, what both masks leave; of all else no more than
the emptiest access of its program shows.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy

_THERE = "ddelint.there"
"""Under this name a block keeps its mask."""
_INTERPRETER = ("triton.", "ddelint.", "unittest.")


class Masks:
    """How many elements each line of one program of a launch reached for, and how many of them were there."""

    def __init__(self) -> None:
        self._places: dict[tuple[Any, int], tuple[int, int]] = {}
        self._stores = False

    def access(self, pointers: Any, mask: Any, *, writes: bool) -> None:
        """One load, store or atomic operation; one that reaches for a single element says nothing of blocks."""
        self._stores |= writes
        size = int(numpy.size(pointers))
        if size <= 1:
            return
        there = int(numpy.count_nonzero(numpy.broadcast_to(numpy.asarray(mask, dtype=bool), numpy.shape(pointers))))
        place = _place()
        known = self._places.get(place, (0, 0))
        self._places[place] = known[0] + there, known[1] + size

    def share(self) -> float:
        """The least share of all lines."""
        if not self._stores:
            return 0.0
        return min((there / size for there, size in self._places.values()), default=1.0)


def loaded(handle: Any, mask: Any) -> Any:
    """A block that was loaded, which remembers what of it is there."""
    handle.attr[_THERE] = numpy.broadcast_to(numpy.asarray(mask, dtype=bool), numpy.shape(handle.data))
    return handle


def cast(handle: Any, source: Any) -> Any:
    """A block that was cast remembers what its source does."""
    if _THERE in source.attr:
        handle.attr[_THERE] = source.attr[_THERE]
    return handle


def transposed(handle: Any, source: Any, order: Any) -> Any:
    """The same of a block that was transposed."""
    if _THERE in source.attr:
        handle.attr[_THERE] = numpy.transpose(source.attr[_THERE], order)
    return handle


def products(left: Any, right: Any) -> tuple[float, bool]:
    """How many pairs of elements a product of two blocks multiplies, of which the masks that are known leave all; and
    whether both are known."""
    known = [handle.attr.get(_THERE) for handle in (left, right)]
    first, second = (
        numpy.ones(numpy.shape(handle.data), dtype=bool) if mask is None else mask
        for handle, mask in zip((left, right), known)
    )
    rows, columns = first.sum(-2, dtype=float), second.sum(-1, dtype=float)
    return float((rows * columns).sum()), all(mask is not None for mask in known)


def _place() -> tuple[Any, int]:
    """The kernel's line that is being interpreted."""
    frame: Any = sys._getframe(2)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(_INTERPRETER):
        frame = frame.f_back
    return frame.f_code, frame.f_lineno
