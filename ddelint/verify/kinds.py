"""The same inputs with one argument of another kind than declared: its dtype, a dimension more or less, the gradient
that flows into it alone; and all rows the same memory.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch.utils import _pytree as pytree

from ddelint.nouns.protocol import INTEGERS
from ddelint.verify.inputs import is_integer, leaf_name
from ddelint.verify.samples import Sample, is_ordinary, with_leaves

OF_ANOTHER_DTYPE = "with one argument of another dtype"
IN_ANOTHER_SHAPE = "with another dimension"
SPARSE = "with a sparse argument"
ALONE = "with a gradient for one argument"
EXPANDED = "with rows that share memory"
_WIDE = 4
"""Bytes of integers of which hardly anybody says larger ones."""
_MOST = 3
"""Arguments that become of another kind, for each kind."""

Change = Callable[[Sample], Sample]


def other_kinds(
    sample: Sample, parameters: Sequence[str], may_be_sparse: Callable[[str], bool] = lambda name: False
) -> Iterator[Change]:
    """Changes of an input set, the first few arguments one after the other, the kinds in turn.

    A floating-point tensor is in double precision alone (where all are, and the weights, is another mode), in integers,
    and alone requires grad; one of integers is of 32 bits. A single number stands in a row of one, as in
    `torch.tensor([0.5])`, and a matrix is sparse where its name may be that of one that is. At last all tensors have
    one row, seen as many times as they have rows: into that nobody can write, nor into one that requires grad and was
    not computed.
    """
    found: list[list[Change]] = [[] for _ in _KINDS]
    leaves = pytree.tree_flatten_with_path(sample.make())[0]
    for index, (path, leaf) in enumerate(leaves):
        if not _is_plain(leaf):
            continue
        for changes, (fits, mode, text, change) in zip(found, _KINDS):
            name = leaf_name(path, parameters)
            if fits(leaf) and len(changes) < _MOST and (mode != SPARSE or may_be_sparse(name)):
                label = text.format(name)
                changes.append(partial(_with_other_kind, index, fits, mode, label, change))
    for one_of_each in itertools.zip_longest(*found):
        yield from (change for change in one_of_each if change is not None)
    if any(_has_rows(leaf) for _, leaf in leaves):
        yield _expanded


def _is_single(leaf: torch.Tensor) -> bool:
    return bool(leaf.dtype is torch.float32)


def in_double(leaf: torch.Tensor) -> torch.Tensor:
    """In double precision."""
    return leaf.detach().double().requires_grad_(leaf.requires_grad)


def rounded(leaf: torch.Tensor, times: int = 1) -> torch.Tensor:
    """The nearest integers to so many times the numbers."""
    return (leaf.detach() * times).round().clamp(-_LARGEST, _LARGEST).long()


_LARGEST = 2**20
"""Integers that stand for floating-point numbers are no larger: what is computed with them is to fit, too."""
_KINDS: tuple[tuple[Callable[[torch.Tensor], bool], str, str, Callable[[torch.Tensor], torch.Tensor]], ...] = (
    (_is_single, OF_ANOTHER_DTYPE, "{} alone in double precision", in_double),
    (lambda t: t.dim() == 0, IN_ANOTHER_SHAPE, "{} in a row of one", lambda t: t.reshape(1)),
    (_is_single, ALONE, "{} alone requiring grad", lambda t: t.detach().requires_grad_()),
    (_is_single, INTEGERS, INTEGERS + ": {} alone", rounded),
    (lambda t: _is_single(t) and t.dim() == 2, SPARSE, "{} sparse", lambda t: t.detach().to_sparse()),
    (lambda t: is_integer(t) and t.dtype is torch.int64, OF_ANOTHER_DTYPE, "{} alone of 32 bits", lambda t: t.int()),
)
"""Which tensors, the mode, what the change is called, and what it makes of one."""


def _with_other_kind(
    index: int,
    fits: Callable[[torch.Tensor], bool],
    mode: str,
    text: str,
    change: Callable[[torch.Tensor], torch.Tensor],
    sample: Sample,
) -> Sample:
    def changed(leaves: list[Any]) -> list[Any]:
        there = leaves[index] if index < len(leaves) else None  # another input set may have something else there
        if not _is_plain(there) or not fits(there):
            return leaves
        others = map(_without_gradient, leaves) if mode == ALONE else leaves
        return [change(there) if number == index else leaf for number, leaf in enumerate(others)]

    make = with_leaves(sample, changed)
    return replace(sample, label=f"{sample.label}, {text}", declared=False, make=make, mode=mode, change=text)


def _is_plain(leaf: Any) -> bool:
    return isinstance(leaf, torch.Tensor) and is_ordinary(leaf) and not isinstance(leaf, torch.nn.Parameter)


def _without_gradient(leaf: Any) -> Any:
    return leaf.detach() if _is_plain(leaf) and leaf.requires_grad else leaf


def _expanded(sample: Sample) -> Sample:
    make = with_leaves(sample, lambda leaves: list(map(_one_row_repeated, leaves)))
    return replace(sample, label=f"{sample.label}, {EXPANDED}", declared=False, make=make, mode=EXPANDED)


def beyond_the_narrow(sample: Sample) -> tuple[int, ...]:
    """The first integers that the arguments' narrow dtypes do not hold: beside a tensor, torch wraps them."""
    leaves = (leaf for leaf in pytree.tree_leaves(sample.make()) if _is_plain(leaf) and is_integer(leaf))
    narrow = (leaf.dtype for leaf in leaves if leaf.dtype.itemsize < _WIDE)
    return tuple(dict.fromkeys(torch.iinfo(dtype).max + 1 for dtype in narrow))


def _has_rows(leaf: Any) -> bool:
    """Whether its rows may all be the same memory."""
    return bool(_is_plain(leaf) and leaf.dim() and leaf.shape[0] > 1 and not leaf.requires_grad)


def _one_row_repeated(leaf: Any) -> Any:
    return leaf[:1].clone().expand_as(leaf) if _has_rows(leaf) else leaf
