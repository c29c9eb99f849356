"""Which dimensions of a captured call's arguments were marked, or left open by what export was told of shapes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from ddelint.trace import torch_internals
from ddelint.trace.entry import Arguments
from ddelint.trace.marks import by_parameter

Marks = dict[str | int, tuple[int, ...]]


def marks_on(arguments: Arguments) -> tuple[Marks, Marks]:
    """What `mark_unbacked` and `mark_dynamic` said of the arguments."""
    unbacked: Marks = {}
    dynamic: Marks = {}
    args, kwargs = arguments
    named: list[tuple[str | int, Any]] = [*enumerate(args), *kwargs.items()]
    for key, value in named:
        if isinstance(value, torch.Tensor):
            for found, dimensions in zip((unbacked, dynamic), torch_internals.marked(value)):
                if dimensions:
                    found[key] = dimensions
    return unbacked, dynamic


def left_open(shapes: Any) -> Marks:
    """The dimensions that export's `dynamic_shapes` leaves open, of arguments that are tensors themselves."""
    named: list[tuple[str | int, Any]] = []
    if isinstance(shapes, Mapping):
        named = list(shapes.items())
    elif isinstance(shapes, (tuple, list)):
        named = list(enumerate(shapes))
    found: Marks = {}
    for key, one in named:
        dimensions: list[tuple[Any, Any]] = []
        if isinstance(one, Mapping):
            dimensions = list(one.items())
        elif isinstance(one, (tuple, list)):
            dimensions = list(enumerate(one))
        static = (None, torch.export.Dim.STATIC)
        if all(isinstance(dimension, int) for dimension, _ in dimensions):
            open_ones = tuple(d for d, size in dimensions if size not in static and not isinstance(size, int))
            if open_ones:
                found[key] = open_ones
    return found


def of_tensors(
    marks: Mapping[str | int, tuple[int, ...]], names: Sequence[str], arguments: Arguments
) -> dict[str, tuple[int, ...]]:
    """The marks by parameter, of those alone whose argument is a tensor with such dimensions."""
    values = by_parameter(names, arguments)
    found: dict[str, tuple[int, ...]] = {}
    for key, dimensions in marks.items():
        name = names[key] if isinstance(key, int) and key < len(names) else str(key)
        value = values.get(name)
        if isinstance(value, torch.Tensor):
            fitting = tuple(d for d in dimensions if -value.dim() <= d < value.dim())
            if fitting:
                found[name] = fitting
    return found
