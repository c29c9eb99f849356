"""Calls in a row with something moved in between: weights, as an optimizer moves them, for what follows them now and
then (a target network, a cached product) is where it would be anyway as long as they stand still; and state that calls
change, for what is put right now and then (a norm, a symmetry) is right anyway as long as nothing errs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from types import MethodType
from typing import Any

import torch
from torch.utils import _pytree as pytree

from ddelint.verify.samples import CALLS_IN_A_ROW, Sample, is_ordinary

TRAINED = "in a row with its weights trained between the calls"
DRIFTED = "in a row with its state moved between the calls"
_CALLS = 4
"""So many: one that moves nothing is followed by one that would have to, and the other way round."""
Moving = Callable[[torch.nn.Module], Iterator[torch.Tensor]]
"""The tensors of a program that are moved between two calls."""


def trained_between(program: Any) -> Iterator[Callable[[Sample], Sample]]:
    """The same input given several times, with other weights each time."""
    if isinstance(program, torch.nn.Module) and any(True for _ in _trained(program)):
        yield partial(_moved_between, TRAINED, _with_weights_moved)


def drifted_between(program: Any) -> Iterator[Callable[[Sample], Sample]]:
    """The same input given as often as calls in a row are compared, with the buffers that the first call changes moved
    each time."""
    if isinstance(program, torch.nn.Module) and any(True for _ in _floats(program.buffers())):
        yield partial(_moved_between, DRIFTED, _with_state_moved)


def _moved_between(mode: str, run: Callable[..., list[Any]], sample: Sample) -> Sample:
    prepare = sample.prepare
    return replace(
        sample,
        label=f"{sample.label}, {mode}",
        declared=False,
        differentiable=False,
        prepare=lambda program: MethodType(run, prepare(program)),
        mode=mode,
    )


def _with_weights_moved(program: Any, *args: Any, **kwargs: Any) -> list[Any]:
    return _in_a_row(_CALLS, _trained, program, args, kwargs)


def _with_state_moved(program: Any, *args: Any, **kwargs: Any) -> list[Any]:
    before = {name: buffer.detach().clone() for name, buffer in program.named_buffers() if is_ordinary(buffer)}

    def changed(program: torch.nn.Module) -> Iterator[torch.Tensor]:
        now = ((before.get(name), buffer) for name, buffer in program.named_buffers())
        moving = (buffer for was, buffer in now if was is not None and not torch.equal(was, buffer))
        return _floats(moving)

    return _in_a_row(CALLS_IN_A_ROW, changed, program, args, kwargs)


def _in_a_row(count: int, moving: Moving, program: Any, args: Any, kwargs: Any) -> list[Any]:
    """What each call gives, as it is then: a later one may change a tensor that it returned."""
    generator, results = torch.Generator().manual_seed(0), []
    for number in range(count):
        if number:
            with torch.no_grad():
                for tensor in list(moving(program)):
                    drawn = torch.rand(tensor.shape, generator=generator, dtype=torch.float64)
                    tensor.mul_((0.75 + 0.5 * drawn).to(tensor.dtype))
        results.append(pytree.tree_map(_as_it_is, program(*args, **kwargs)))
    return results


def _as_it_is(leaf: Any) -> Any:
    return leaf.detach().clone() if isinstance(leaf, torch.Tensor) and is_ordinary(leaf) else leaf


def _trained(program: torch.nn.Module) -> Iterator[torch.Tensor]:
    """What an optimizer moves: parameters that require grad."""
    return _floats(weight for weight in program.parameters() if weight.requires_grad)


def _floats(tensors: Iterable[torch.Tensor]) -> Iterator[torch.Tensor]:
    for tensor in tensors:
        if not torch.nn.parameter.is_lazy(tensor) and tensor.is_floating_point() and is_ordinary(tensor):
            yield tensor
