"""Calls in a row with the weights moved in between, as an optimizer does: what follows them now and then (a target
network, a cached product) is where it would be anyway as long as they stand still.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from types import MethodType
from typing import Any

import torch
from torch.utils import _pytree as pytree

from ddelint.verify.samples import Sample, is_ordinary

TRAINED = "in a row with its weights trained between the calls"
_CALLS = 4
"""So many: one that moves nothing is followed by one that would have to, and the other way round."""


def trained_between(program: Any) -> Iterator[Callable[[Sample], Sample]]:
    """The same input given several times, with other weights each time."""
    if isinstance(program, torch.nn.Module) and any(True for _ in _trained(program)):
        yield _trained_between


def _trained_between(sample: Sample) -> Sample:
    prepare = sample.prepare
    return replace(
        sample,
        label=f"{sample.label}, {TRAINED}",
        declared=False,
        differentiable=False,
        prepare=lambda program: MethodType(_in_a_row, prepare(program)),
        mode=TRAINED,
    )


def _in_a_row(program: Any, *args: Any, **kwargs: Any) -> list[Any]:
    """What each call gives, as it is then: a later one may change a tensor that it returned."""
    generator, results = torch.Generator().manual_seed(0), []
    for number in range(_CALLS):
        if number:
            with torch.no_grad():
                for weight in list(_trained(program)):
                    drawn = torch.rand(weight.shape, generator=generator, dtype=torch.float64)
                    weight.mul_((0.75 + 0.5 * drawn).to(weight.dtype))
        results.append(pytree.tree_map(_as_it_is, program(*args, **kwargs)))
    return results


def _as_it_is(leaf: Any) -> Any:
    return leaf.detach().clone() if isinstance(leaf, torch.Tensor) and is_ordinary(leaf) else leaf


def _trained(program: torch.nn.Module) -> Iterator[torch.Tensor]:
    """What an optimizer moves: parameters that require grad."""
    for weight in program.parameters():
        if torch.nn.parameter.is_lazy(weight) or not weight.requires_grad:
            continue
        if weight.is_floating_point() and is_ordinary(weight):
            yield weight
