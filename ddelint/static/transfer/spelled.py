"""Answers whose shapes the call itself spells, as einops has it: `rearrange(x, "b (h w) d -> b h (w d)", h=2)`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from ddelint.static.domain.values import KNOWN, UNKNOWN, Constant, Tensor, Unbacked, Value, bare
from ddelint.static.transfer.lettered import computed
from ddelint.static.transfer.operator_call import OperatorCall
from ddelint.static.transfer.sizes import as_size, trail_of

_PART = re.compile(r"\(([^()]*+)\)|\.\.\.|\w++")
_Axes = tuple[str, ...]
"""The axes that one dimension is made of: one, several in parentheses, or none for `1` and `()`."""


@dataclass(frozen=True, slots=True)
class _Side:
    dims: tuple[_Axes, ...]
    """Those before `...`, or all."""
    behind: tuple[_Axes, ...] | None
    """Those behind `...`; None where there is none."""


def spelled(call: OperatorCall) -> Value:
    """The tensor that a call gives which names the dimensions that it takes and those that it gives.

    Source: einops/parsing.py, ParsedExpression.
    """
    text = bare(call.argument(0, "pattern") or UNKNOWN)
    if not isinstance(text, Constant) or not isinstance(text.value, str) or text.value.count("->") != 1:
        return Tensor(boolean=call.tensor.boolean)
    before, after = map(_side, text.value.split("->"))
    sizes = _named(before, call)
    if after.behind is not None:
        first = tuple(_size(axes, sizes, call) for axes in after.dims)
        last = tuple(_size(axes, sizes, call) for axes in after.behind)
        return Tensor(first, False, call.tensor.boolean, trail=trail_of((*first, *last)), tail=last)
    dims = tuple(_size(axes, sizes, call) for axes in after.dims)
    return Tensor(dims, True, call.tensor.boolean, trail=trail_of(dims))


@cache
def _side(text: str) -> _Side:
    before: list[_Axes] = []
    behind: list[_Axes] | None = None
    for part in _PART.finditer(text):
        if part[0] == "...":
            behind = []
            continue
        axes = tuple(axis for axis in (part[1] if part[1] is not None else part[0]).split() if axis != "1")
        (before if behind is None else behind).append(axes)
    return _Side(tuple(before), None if behind is None else tuple(behind))


def _named(side: _Side, call: OperatorCall) -> dict[_Axes, Value]:
    """The sizes of what the tensor's dimensions are called, and of each axis of those that are taken apart."""
    sizes: dict[_Axes, Value] = {}
    for name, value in call.keywords.items():
        size = bare(value)
        if isinstance(size, Unbacked):
            sizes[(name,)] = as_size(size)
        elif isinstance(size, Constant) and type(size.value) is int:
            sizes[(name,)] = size
    for axes, size in _pairs(side, call.tensor):
        given = any((axis,) in sizes for axis in axes)
        sizes.setdefault(axes, size)
        for axis in axes:
            # what is left of a size that depends on data does, too; beside axes that were given only one can be
            if (axis,) not in sizes:
                sizes[(axis,)] = computed(size, call) if given or len(axes) == 1 else KNOWN
    return sizes


def _pairs(side: _Side, tensor: Tensor) -> list[tuple[_Axes, Value]]:
    """Each name with the dimension that it is about, where the tensor's are known."""
    dims = tensor.dims
    if side.behind is None:
        return list(zip(side.dims, dims)) if not tensor.complete or len(dims) == len(side.dims) else []
    if not tensor.complete:
        return [*zip(side.dims, dims), *list(zip(reversed(side.behind), reversed(tensor.tail)))]
    if len(dims) < len(side.dims) + len(side.behind):
        return []
    return [*zip(side.dims, dims), *zip(reversed(side.behind), reversed(dims))]


def _size(axes: _Axes, sizes: dict[_Axes, Value], call: OperatorCall) -> Value:
    """The size of a dimension that is put together of axes."""
    if not axes:
        return Constant(1)
    known = sizes.get(axes)
    if known is not None:
        return known
    parts = [sizes.get((axis,), KNOWN) for axis in axes]
    unbacked = next((part for part in parts if isinstance(part, Unbacked)), None)
    return KNOWN if unbacked is None else computed(unbacked, call)
