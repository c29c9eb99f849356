"""The same input with several arguments changed at once: what one of them alone does not come to.

An index that is the sum of two is out of range where both are large, a rate of two counts is NaN where both are zero,
and a distance is zero where a row of one argument stands in another, too.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch.utils import _pytree as pytree

from ddelint.verify.inputs import is_integer
from ddelint.verify.modes import requiring_grad
from ddelint.verify.samples import Sample, is_ordinary, with_leaves

Change = Callable[[torch.Tensor], torch.Tensor]
_MOST_SHARED = 2
"""Pairs of arguments that get a row in common."""


def changes_of_several(sample: Sample) -> Iterator[Callable[[Sample], Sample]]:
    """All integers beyond any limit, all of a kind zero, and a row of one argument in another; as far as two arguments
    or more are of the kind."""
    leaves = pytree.tree_leaves(sample.make())
    whole = [place for place, leaf in enumerate(leaves) if is_varied(leaf) and is_integer(leaf)]
    floats = [place for place, leaf in enumerate(leaves) if is_varied(leaf) and leaf.is_floating_point()]
    masks = [place for place, leaf in enumerate(leaves) if is_varied(leaf) and leaf.dtype is torch.bool]
    if len(whole) > 1:
        yield partial(_changed, whole, "all integers far over the limit", lambda t: t.fill_(2 * int(t.max()) + 2))
    for places, kind in ((whole, "integers"), (floats, "floats"), (masks, "masks")):
        if len(places) > 1:
            yield partial(_changed, places, f"all {kind} zero", torch.zeros_like)
    pairs = itertools.combinations(floats, 2)
    alike = ((one, other) for one, other in pairs if _have_rows_alike(leaves[one], leaves[other]))
    for one, other in itertools.islice(alike, _MOST_SHARED):
        yield partial(_with_common_row, one, other)


def is_varied(leaf: Any) -> bool:
    """Whether it is a tensor of which elements may be changed."""
    return isinstance(leaf, torch.Tensor) and is_ordinary(leaf) and leaf.numel() > 0


def _changed(places: Sequence[int], text: str, change: Change, sample: Sample) -> Sample:
    return _labelled(sample, text, partial(with_changed, places, change))


def with_changed(places: Sequence[int], change: Change, leaves: list[Any]) -> list[Any]:
    """The leaves, those at some places that are varied changed, with gradients where they had them."""
    return [_after(change, leaf) if place in places and is_varied(leaf) else leaf for place, leaf in enumerate(leaves)]


def _after(change: Change, leaf: torch.Tensor) -> torch.Tensor:
    return change(leaf.detach().clone()).requires_grad_(leaf.requires_grad)


def _have_rows_alike(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether a row of the one may stand in the other, which as a whole is none of its shape."""
    return one.dim() > 1 and (one.dtype, one.shape[1:]) == (other.dtype, other.shape[1:])


def _with_common_row(one: int, other: int, sample: Sample) -> Sample:
    def common(leaves: list[Any]) -> list[Any]:
        row = leaves[one].detach()[0]
        leaves[other] = _after(lambda t: torch.cat((row[None], t[1:])), leaves[other])
        return leaves

    return _labelled(sample, f"a row in common ({one + 1} and {other + 1})", common)


def _labelled(sample: Sample, text: str, change: Callable[[list[Any]], list[Any]]) -> Sample:
    """With its leaves changed, and gradients flowing into them."""
    flowing = requiring_grad(replace(sample, make=with_leaves(sample, change)))
    return replace(flowing, label=f"{sample.label}, {text}")
