"""Which input dimensions are unbacked or dynamic: by a mark on the tensor, by name, or all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch

from ddelint.trace import torch_internals
from ddelint.trace.entry import Arguments, EntryProblem


def marked(names: tuple[str, ...], sample: Callable[[], Arguments]) -> Mapping[str, tuple[int, ...]]:
    """What `mark_unbacked` said of the arguments; nothing where they cannot be made for this seed."""
    try:
        arguments = sample()
    except Exception:  # some inputs are meant to raise; run_eagerly reports those that may not
        return {}
    tensors = {name: value for name, value in _named(names, arguments) if isinstance(value, torch.Tensor)}
    return {name: found for name, value in tensors.items() if (found := torch_internals.marked(value)[0])}


def all_dimensions(names: tuple[str, ...], arguments: Arguments) -> Mapping[str, tuple[int, ...]]:
    tensors = {name: value for name, value in _named(names, arguments) if isinstance(value, torch.Tensor)}
    return {name: tuple(range(value.dim())) for name, value in tensors.items() if value.dim()}


def _named(names: tuple[str, ...], arguments: Arguments) -> Iterator[tuple[str, Any]]:
    args, kwargs = arguments
    yield from zip(names, args)
    yield from kwargs.items()


def marks_of(
    marks: Any, what: str, names: tuple[str, ...], sample: Callable[[], Arguments]
) -> Mapping[str, tuple[int, ...]]:
    """`{name or position: dimensions}` checked against the entry's parameters and inputs."""
    if not isinstance(marks, Mapping):
        raise EntryProblem("bad-inputs", f"{what} must map a parameter to its dimensions")
    values = dict(_named(names, sample()))
    found: dict[str, tuple[int, ...]] = {}
    for key, dimensions in marks.items():
        if isinstance(key, int):
            if not 0 <= key < len(names):
                raise EntryProblem("bad-inputs", f"{what} names argument {key}, but there are {len(names)}")
            key = names[key]
        if key not in values:
            known = ", ".join(values) or "none"
            raise EntryProblem("bad-inputs", f"{what} names `{key}`, but the entry's arguments are: {known}")
        value = values[key]
        if not isinstance(value, torch.Tensor):
            raise EntryProblem("bad-inputs", f"{what} names `{key}`, which is a {type(value).__name__}, not a tensor")
        listed = [dimensions] if isinstance(dimensions, int) else list(dimensions)
        for dimension in listed:
            if not isinstance(dimension, int) or not -value.dim() <= dimension < value.dim():
                raise EntryProblem(
                    "bad-inputs", f"{what} names dimension {dimension} of `{key}`, which has {value.dim()} dimensions"
                )
        found[str(key)] = tuple(sorted({dimension % value.dim() for dimension in listed}))
    return found
