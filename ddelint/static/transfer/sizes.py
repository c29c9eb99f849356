"""Sizes: of a tensor's dimensions, in a call's arguments, and what is known of them together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ddelint.knowledge.operators import operators
from ddelint.static.domain.facts import NONNEGATIVE, Facts
from ddelint.static.domain.joining import join
from ddelint.static.domain.values import (
    KNOWN,
    UNKNOWN,
    Constant,
    Known,
    Series,
    Step,
    Tensor,
    Unbacked,
    Value,
    bare,
    ends,
    replace,
    series,
    spread,
)
from ddelint.static.transfer.numbers import Numbers
from ddelint.static.transfer.operator_call import Kernel, OperatorCall

SIZES = (Constant, Known, Unbacked)


def shape_of(tensor: Tensor) -> Series:
    """`tensor.shape`."""
    if tensor.complete:
        return series(tensor.dims, "tuple")
    element: Value = KNOWN
    if not tensor.dims:
        for size in tensor.unbacked_dims:
            element = size
    return Series("shape", None, element, KNOWN, False, tensor.dims, tensor.tail)


def element_count(tensor: Tensor, numbers: Numbers, facts: Facts) -> Value:
    """How many elements the tensor has."""
    if tensor.complete:
        return numbers.product(tensor.dims, facts)
    form = numbers.symbol_form((tensor.outline, "numel"), facts)
    if tensor.unbacked_dims:
        return replace(tensor.unbacked_dims[0], form=form)
    return Known(form)


class Sizes(NamedTuple):
    """Sizes that are given for a new tensor."""

    dims: tuple[Value, ...]
    """The first ones."""
    complete: bool
    """Whether these are all."""
    tail: tuple[Value, ...] = ()
    """The last ones, where there are others before, nobody knows how many."""

    @property
    def trail(self) -> Step | None:
        """The way of the first size that depends on data."""
        return trail_of((*self.dims, *self.tail))


def size_list(values: Sequence[Value], call: OperatorCall) -> Sizes:
    """Sizes given as ints, as one sequence, or with `*sizes` among them."""
    if len(values) == 1 and isinstance(only := bare(values[0]), Series):
        values = spread(only)
    dims, tail = ends(values)
    first, all_of_them = _as_sizes(dims, call)
    if tail is None or not all_of_them:
        return Sizes(first, all_of_them)
    last, usable = _as_sizes(tail, call)
    return Sizes(first, False, last if usable else ())


def _as_sizes(values: Iterable[Value], call: OperatorCall) -> tuple[tuple[Value, ...], bool]:
    """Values as sizes, up to the first that is none; the flag says whether all are."""
    sizes: list[Value] = []
    for value in values:
        value = bare(value)
        if isinstance(value, Tensor) and not (value.literal or (value.complete and value.dims)):
            sizes.append(call.numbers.new_size(call.node, call.facts, Step(call.node, operators().says["item"], None)))
        elif isinstance(value, Unbacked):
            if value.form is not None:
                call.facts.learn_bounds(value.form, NONNEGATIVE)
            sizes.append(as_size(value))
        elif isinstance(value, SIZES):
            sizes.append(value)
        elif value == UNKNOWN:
            sizes.append(KNOWN)
        else:
            return tuple(sizes), False
    return tuple(sizes), True


def join_sizes(sizes: list[Value]) -> Value:
    """A size that several tensors share: the one that is known best."""
    for size in sizes:
        if isinstance(size, Constant):
            return size
    result = sizes[0]
    for size in sizes[1:]:
        result = join(result, size)
    return result if isinstance(result, SIZES) else KNOWN


def as_size(value: Unbacked) -> Unbacked:
    """A number as the size of a dimension."""
    return replace(value, topic="input" if value.topic == "input" else "size", group=None)


def trail_of(dims: tuple[Value, ...]) -> Step | None:
    """The way of the first size that depends on data."""
    return next((size.trail for size in dims if isinstance(size, Unbacked)), None)


def _sizes(call: OperatorCall) -> Value:
    position = call.argument(0, "dim")
    if position is None:
        return shape_of(call.tensor)
    if isinstance(position, Constant) and type(position.value) is int:
        return call.numbers.size_of(call.tensor, position.value, call.facts)
    return KNOWN


def _element_count(call: OperatorCall) -> Value:
    return element_count(call.tensor, call.numbers, call.facts)


RULES: Mapping[str, Kernel] = {
    "sizes": _sizes,
    "rank": lambda c: Constant(len(c.tensor.dims)) if c.tensor.complete else KNOWN,
    "element_count": _element_count,
}
