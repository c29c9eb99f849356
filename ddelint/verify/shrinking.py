"""Inputs made smaller, where the program takes that: what is interpreted is interpreted element by element."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch.utils import _pytree as pytree

from ddelint.trace import torch_internals
from ddelint.trace.entry import Arguments, Entry
from ddelint.verify.calls import run
from ddelint.verify.samples import fresh, is_ordinary

_LARGE = 32
"""Sizes above are made smaller, and what divides them by 16 goes on dividing them."""


@dataclass(frozen=True)
class Shrinking:
    """Which sizes become which."""

    seed: int
    sizes: Mapping[int, int]

    def __str__(self) -> str:
        """`512 → 16, 100 → 20`."""
        return ", ".join(f"{size} → {small}" for size, small in self.sizes.items())

    def of(self, entry: Entry) -> Entry:
        """The entry with the smaller inputs, which are those of one seed."""
        inputs, seed, sizes = entry.inputs, self.seed, self.sizes
        return replace(entry, inputs=lambda _: _cut(inputs(seed), sizes), seeded=False)


def shrinking_of(entry: Entry, seed: int) -> Shrinking | None:
    """How the entry's inputs can be made smaller so that it still returns; None where nothing is large, or can be."""
    given = pytree.tree_leaves(fresh(entry, seed))
    tensors = [value for value in given if isinstance(value, torch.Tensor)]
    if not all(is_ordinary(tensor) for tensor in tensors):
        return None
    large = sorted({size for tensor in tensors for size in tensor.shape if size > _LARGE}, reverse=True)
    every = Shrinking(seed, {size: _small(size) for size in large})
    if not large or _returns(every.of(entry), seed):
        return every if large else None
    found = Shrinking(seed, {})
    for size in large:
        tried = replace(found, sizes={**found.sizes, size: _small(size)})
        if _returns(tried.of(entry), seed):
            found = tried
    return found if found.sizes else None


def _small(size: int) -> int:
    return 16 + size % 16


def _returns(entry: Entry, seed: int) -> bool:
    return run(entry.build(), fresh(entry, seed), surroundings=entry.surroundings).returned


def _cut(arguments: Arguments, sizes: Mapping[int, int]) -> Arguments:
    def cut(value: Any) -> Any:
        if not isinstance(value, torch.Tensor) or not any(size in sizes for size in value.shape):
            return value
        part = value.detach()[tuple(slice(sizes.get(size, size)) for size in value.shape)].clone()
        part.requires_grad_(value.requires_grad)
        torch_internals.copy_marks(value, part)
        return part

    cut_arguments: Arguments = pytree.tree_map(cut, arguments)
    return cut_arguments
