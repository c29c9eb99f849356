"""Which input dimensions are unbacked or dynamic: by a mark on the tensor, by name, or all of them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
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
    tensors = tensors_at(names, arguments)
    return {place: found for place, value in tensors.items() if (found := torch_internals.marked(value)[0])}


def all_dimensions(names: Sequence[str], arguments: Arguments) -> Mapping[str, tuple[int, ...]]:
    """Every dimension of every tensor among the arguments."""
    return {place: tuple(range(value.dim())) for place, value in tensors_at(names, arguments).items() if value.dim()}


def tensors_at(names: Sequence[str], arguments: Arguments) -> dict[str, torch.Tensor]:
    """The tensors among the arguments of parameters `names`, by where they stand: `tokens`, `batch['mask']`."""
    return tensors_in(by_parameter(names, arguments))


def tensors_in(values: Mapping[str, Any]) -> dict[str, torch.Tensor]:
    """The same of values that have names already."""
    found: dict[str, torch.Tensor] = {}
    for name, value in values.items():
        with contextlib.suppress(ValueError):  # a container that does not say what it keeps where
            leaves = torch_internals.leaves_at(name, value)
            found |= {place: leaf for place, leaf in leaves if isinstance(leaf, torch.Tensor)}
    return found


def by_parameter(names: Sequence[str], arguments: Arguments) -> dict[str, Any]:
    """The arguments by parameter."""
    args, kwargs = arguments
    return dict(zip(names, args)) | kwargs


def marks_of(
    marks: Any, what: str, names: tuple[str, ...], sample: Callable[[], Arguments]
) -> Mapping[str, tuple[int, ...]]:
    """`{place or position: dimensions}` checked against the entry's parameters and inputs. Raises EntryProblem."""
    if not isinstance(marks, Mapping):
        raise EntryProblem("bad-inputs", f"{what} must map a parameter to its dimensions")
    arguments = sample()
    values = by_parameter(names, arguments) | tensors_at(names, arguments)
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
            inside = [place for place in values if place.startswith((f"{key}[", f"{key}."))]
            hint = f": name a tensor in it ({', '.join(inside)})" if inside else ", not a tensor"
            raise EntryProblem("bad-inputs", f"{what} names `{key}`, which is a {type(value).__name__}{hint}")
        listed = [dimensions] if isinstance(dimensions, int) else list(dimensions)
        for dimension in listed:
            if not isinstance(dimension, int) or not -value.dim() <= dimension < value.dim():
                raise EntryProblem(
                    "bad-inputs", f"{what} names dimension {dimension} of `{key}`, which has {value.dim()} dimensions"
                )
        found[str(key)] = tuple(sorted({dimension % value.dim() for dimension in listed}))
    return found
