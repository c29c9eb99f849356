"""What nobody gave and a program takes all the same: something instead of None, and options that it reads by name of
its keywords (`options.get("floor", 0.0)`).
"""

from __future__ import annotations

import ast
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import torch
from torch.utils import _pytree as pytree

from ddelint.verify.members import other_number
from ddelint.verify.samples import is_ordinary

_MOST = 4
"""Values for one argument."""
_NUMBERS = {float: 0.5, int: 1, bool: True}
_LOOKED_UP = ("get", "pop", "setdefault")


def instead_of_none(called: Callable[..., Any], name: str, given: Mapping[str, Any]) -> Sequence[object]:
    """What an argument that is None may be as far as its annotation says: tensors shaped as those that are given, a
    number, a flag. Where it has none, whatever it is tried with, the original says by raising that it takes no such."""
    kinds = _annotated(called, name)
    tensors = list(_tensors(given)) if torch.Tensor in kinds or not kinds else []
    numbers = [number for kind, number in _NUMBERS.items() if kind in kinds]
    return (tensors + (numbers if kinds else [0.5]))[:_MOST]


def options_read(tree: ast.AST, name: str) -> Iterator[tuple[str, object]]:
    """(option, another value than its default) of what a function looks up in its `**name`, once each."""
    known: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=read), attr=method),
                args=[ast.Constant(value=str(option)), default],
            ) if read == name and method in _LOOKED_UP and option not in known:
                known.add(option)
                with suppress(ValueError):
                    before = ast.literal_eval(default)
                    other = other_number(before)
                    if other is not before:
                        yield option, other


def _annotated(called: Callable[..., Any], name: str) -> frozenset[object]:
    """The types that an argument is annotated with, None left out; none where no annotation can be read."""
    with suppress(Exception):  # an annotation may name what isn't there at run time
        hint = typing.get_type_hints(called).get(name)
        kinds = frozenset((hint, *typing.get_args(hint))) if hint is not None else frozenset()
        return frozenset(kind for kind in kinds if isinstance(kind, type) and kind is not type(None))
    return frozenset()


def _tensors(given: Mapping[str, Any]) -> Iterator[torch.Tensor]:
    """Floats shaped as the first that are given, and as their last dimension; a mask as the first one, or of their
    rows; integers as the first that are given."""
    leaves = [leaf for leaf in pytree.tree_leaves(dict(given)) if isinstance(leaf, torch.Tensor) and is_ordinary(leaf)]
    floats = next((leaf for leaf in leaves if leaf.is_floating_point()), None)
    mask = next((leaf for leaf in leaves if leaf.dtype is torch.bool), None)
    whole = (leaf for leaf in leaves if not leaf.is_floating_point() and not leaf.is_complex() and leaf is not mask)
    integers = next((leaf for leaf in whole if leaf.dtype is not torch.bool), None)
    if floats is not None:
        generator = torch.Generator().manual_seed(0)
        for shape in dict.fromkeys((floats.shape, floats.shape[-1:])):
            yield (0.25 + torch.rand(shape, generator=generator, dtype=torch.float64)).to(floats.dtype)
    shape = mask.shape if mask is not None else floats.shape[:-1] if floats is not None and floats.dim() > 1 else None
    if shape is not None:
        yield (torch.arange(shape.numel()) % 2 == 0).reshape(shape)
    if integers is not None:
        yield integers.detach().clone()
