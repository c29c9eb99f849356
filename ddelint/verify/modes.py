"""The same inputs in what nobody declared: with gradients flowing into them, in other modes of the module, dtypes and
strides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch.utils import _pytree as pytree

from ddelint.trace.entry import Arguments
from ddelint.verify.calls import letting_gradients_flow
from ddelint.verify.samples import Sample, is_ordinary


def requiring_grad(sample: Sample) -> Sample:
    """The same input with gradients flowing into its floating-point tensors, infinities and NaN or not."""

    def make() -> Arguments:
        leaves, spec = pytree.tree_flatten(sample.make())
        args, kwargs = pytree.tree_unflatten([_letting_flow(leaf) for leaf in leaves], spec)
        return tuple(args), dict(kwargs)

    label = f"{sample.label}, requiring grad"
    return replace(sample, label=label, declared=False, make=make, differentiable=True)


def other_modes(program: Any) -> Iterator[Callable[[Sample], Sample]]:
    """The same input in what nobody declared: train() or eval(), whichever it is not; double precision; strides."""
    if isinstance(program, torch.nn.Module):
        yield partial(_in_training, not program.training)
    yield _in_double
    yield _strided


def _in_training(training: bool, sample: Sample) -> Sample:
    mode = "in train()" if training else "in eval()"
    return _in_mode(sample, mode, prepare=lambda program: program.train(training))


def _in_double(sample: Sample) -> Sample:
    def widened(leaf: Any) -> Any:
        is_single = isinstance(leaf, torch.Tensor) and leaf.dtype is torch.float32 and is_ordinary(leaf)
        return leaf.detach().double().requires_grad_(leaf.requires_grad) if is_single else leaf

    return _in_mode(
        sample,
        "in double precision",
        change=widened,
        prepare=lambda program: program.double() if isinstance(program, torch.nn.Module) else program,
    )


def _strided(sample: Sample) -> Sample:
    def spread(leaf: Any) -> Any:
        if not isinstance(leaf, torch.Tensor) or not is_ordinary(leaf) or not leaf.dim() or leaf.requires_grad:
            return leaf
        return torch.stack((leaf, leaf), -1)[..., 0]

    return _in_mode(sample, "with strides", change=spread)


def _in_mode(
    sample: Sample,
    mode: str,
    *,
    change: Callable[[Any], Any] = lambda leaf: leaf,
    prepare: Callable[[Any], Any] = lambda program: program,
) -> Sample:
    def make() -> Arguments:
        leaves, spec = pytree.tree_flatten(sample.make())
        args, kwargs = pytree.tree_unflatten(list(map(change, leaves)), spec)
        return tuple(args), dict(kwargs)

    label = f"{sample.label}, {mode}"
    return replace(sample, label=label, declared=False, make=make, prepare=prepare, mode=mode)


def _letting_flow(leaf: Any) -> Any:
    if isinstance(leaf, torch.Tensor) and is_ordinary(leaf) and leaf.is_floating_point() and not leaf.requires_grad:
        return letting_gradients_flow(leaf)
    return leaf
