"""The same inputs in what nobody declared: with gradients flowing into them, in other modes of the module, dtypes and
strides.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from types import MethodType
from typing import Any

import torch
from torch.utils import _pytree as pytree

from ddelint.nouns.protocol import INTEGERS, NOT_FINITE
from ddelint.trace.registered import buffers_of, parameters_of
from ddelint.verify.calls import letting_gradients_flow
from ddelint.verify.dropping import with_dropout, with_what_training_reads
from ddelint.verify.inputs import FAR_BELOW, is_integer, leaf_name
from ddelint.verify.kinds import IN_ANOTHER_SHAPE, OF_ANOTHER_DTYPE, SPARSE, in_double, other_kinds, rounded
from ddelint.verify.samples import AUTOCAST, UNREAD, Sample, is_ordinary, with_leaves
from ddelint.verify.set_later import is_uniform, kept_to_be_set

OTHER_SIZES = ("with one row", "without rows")
"""Modes in which sizes are others than those that are compiled for."""
_HALF = "in half precision"
_LARGE = 40000.0
"""Two of them are more than half precision holds."""
SHARED_ARGUMENT = "with one tensor for two arguments"
_MOST_SHARED = 3
TRACED_ANEW = (AUTOCAST, SHARED_ARGUMENT, INTEGERS, IN_ANOTHER_SHAPE, SPARSE)
"""Modes for which what is compiled is traced anew: what cannot be says so then. So does what cannot with another
argument or setting, whatever the input. Other sizes are none of them: programs are often called with few rows, and an
arm that is computed and not chosen may ask for more (`topk`)."""
TWICE = "called twice before the backward pass"
_OTHER_DRAWS = 1000
"""Seeds from here on are those of draws that no input set comes with."""


def requiring_grad(sample: Sample) -> Sample:
    """The same input with gradients flowing into its floating-point tensors, infinities and NaN or not."""
    make = with_leaves(sample, lambda leaves: list(map(_letting_flow, leaves)))
    label = f"{sample.label}, requiring grad"
    return replace(sample, label=label, declared=False, make=make, differentiable=True)


def redrawn(number: int, sample: Sample) -> Sample:
    """The same input, of which the program draws other random numbers."""
    return replace(sample, label=f"{sample.label}, other draw {number + 1}", seed=_OTHER_DRAWS + number)


def near(number: int, sample: Sample) -> Sample:
    """An input near this one, for each number another: floats moved by a tenth, rows in another order, floats drawn
    anew about where they were, one of them moved far. Whether a decision stays on its side is for the caller to find
    out."""

    def moved_near(leaves: list[Any]) -> list[Any]:
        generator = torch.Generator().manual_seed(number)
        rows = next((leaf.shape[0] for leaf in leaves if isinstance(leaf, torch.Tensor) and leaf.dim()), 0)
        order = torch.randperm(rows, generator=generator)

        def changed(leaf: Any) -> Any:
            if not isinstance(leaf, torch.Tensor) or not is_ordinary(leaf) or not leaf.numel():
                return leaf
            if number % 4 == 1:
                moved = leaf.detach()[order].clone() if leaf.dim() and leaf.shape[0] == rows else leaf
            elif not leaf.is_floating_point():
                return leaf
            elif number % 4 == 3:
                moved = leaf.detach().clone(memory_format=torch.contiguous_format)
                one = int(torch.randint(leaf.numel(), (), generator=generator))
                moved.view(-1)[one] += 10 * (1 + float(leaf.detach().abs().amax()))
            else:
                noise = torch.randn(leaf.shape, generator=generator).to(leaf.dtype)
                wide = leaf.detach().abs() * 0.1 if number % 4 == 0 else leaf.detach().std(correction=0)
                moved = (leaf.detach() if number % 4 == 0 else leaf.detach().mean()) + wide * noise
            return moved.detach().requires_grad_(leaf.requires_grad) if moved is not leaf else leaf

        return list(map(changed, leaves))

    label = f"{sample.label}, near it ({number + 1})"
    return replace(sample, label=label, declared=False, make=with_leaves(sample, moved_near))


def other_modes(program: Any) -> Iterator[Callable[[Sample], Sample]]:
    """The same input in what nobody declared: train() or eval(), whichever it is not; dropout, and what else training
    reads, where there is none; other weights; double and half precision, bfloat16; integers; autocast; strides; one
    row, and none."""
    if isinstance(program, torch.nn.Module):
        in_training: Callable[[Sample], Sample] = partial(_in_training, not program.training)
        yield in_training
        yield from with_dropout(program)
        changing = any(True for _ in _weights(program)) or any(True for _ in kept_to_be_set(program))
        read_by_training = list(with_what_training_reads(program))
        if changing:
            yield _with_other_weights
            # statistics that begin as zeros hide what training makes of them
            for change in (in_training, *read_by_training):
                yield partial(_after, _with_other_weights, change)
        else:
            yield from read_by_training
    yield in_double_precision
    yield partial(_in_half, torch.float16, _HALF)
    yield _in_bfloat16
    yield _large_in_half
    yield partial(_in_integers, 1)
    yield partial(_in_integers, 8)
    yield _under_autocast
    yield _strided
    yield from in_other_sizes()


def _after(first: Callable[[Sample], Sample], change: Callable[[Sample], Sample], sample: Sample) -> Sample:
    return change(first(sample))


def in_other_dtypes(sample: Sample, parameters: Sequence[str]) -> Iterator[Callable[[Sample], Sample]]:
    """The same input under autocast, in bfloat16, in double precision, and with one argument alone of another dtype: an
    arm that multiplies matrices or casts may have one where the arm beside it keeps another."""
    yield _under_autocast
    yield _in_bfloat16
    yield in_double_precision
    yield from (change for change in other_kinds(sample, parameters) if change(sample).mode == OF_ANOTHER_DTYPE)


def in_other_sizes() -> Iterator[Callable[[Sample], Sample]]:
    """The same input with one row, and without any."""
    yield partial(_with_rows, 1)
    yield partial(_with_rows, 0)


def called_twice(program: Any) -> Iterator[Callable[[Sample], Sample]]:
    """The same input given twice before one backward pass goes through both results: what is written in place, though
    with what was there, is no longer what the first call has kept for its gradient."""
    if isinstance(program, torch.nn.Module):
        yield _called_twice


def _called_twice(sample: Sample) -> Sample:
    prepare = sample.prepare
    flowing = requiring_grad(sample)
    return replace(
        flowing,
        label=f"{sample.label}, {TWICE}",
        prepare=lambda program: MethodType(_twice, prepare(program)),
        mode=TWICE,
    )


def _twice(program: Any, *args: Any, **kwargs: Any) -> Any:
    return program(*args, **kwargs), program(*args, **kwargs)


def sharing(sample: Sample) -> Iterator[Callable[[Sample], Sample]]:
    """The same input with two arguments that are alike in shape and dtype one and the same tensor, for the first few
    such pairs: what an arm writes into one is read from the other."""
    leaves = pytree.tree_leaves(sample.make())
    pairs = itertools.combinations(range(len(leaves)), 2)
    alike = ((a, b) for a, b in pairs if _are_alike(leaves[a], leaves[b]) and leaves[a] is not leaves[b])
    for nth, (first, second) in enumerate(itertools.islice(alike, _MOST_SHARED)):
        text = f"{SHARED_ARGUMENT} ({first + 1} and {second + 1})" if nth else SHARED_ARGUMENT
        yield partial(_with_one_for_two, first, second, text)


def parts_in_other_mode(program: Any) -> Iterator[Callable[[Sample], Sample]]:
    """The same input with the modules that a module holds in train() where itself is in eval(), or the other way round:
    statistics that are kept as they are, dropout that goes on."""
    if isinstance(program, torch.nn.Module) and any(True for _ in program.children()):
        yield partial(_parts_in_training, not program.training)


def _parts_in_training(training: bool, sample: Sample) -> Sample:
    def prepare(program: Any) -> Any:
        program = sample.prepare(program)
        for part in program.children():
            part.train(training)
        return program

    mode = f"with its parts in {'train' if training else 'eval'}()"
    return _in_mode(sample, mode, prepare=prepare)


def _are_alike(one: Any, other: Any) -> bool:
    if not (isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor)):
        return False
    return is_ordinary(one) and is_ordinary(other) and one.shape == other.shape and one.dtype == other.dtype


def _with_one_for_two(first: int, second: int, text: str, sample: Sample) -> Sample:
    def shared(leaves: list[Any]) -> list[Any]:
        if _are_alike(leaves[first], leaves[second]):
            leaves[second] = leaves[first]
        return leaves

    label, make = f"{sample.label}, {text}", with_leaves(sample, shared)
    return replace(sample, label=label, declared=False, make=make, mode=SHARED_ARGUMENT)


def _in_training(training: bool, sample: Sample) -> Sample:
    mode = "in train()" if training else "in eval()"
    return _in_mode(sample, mode, prepare=lambda program: program.train(training))


def _with_other_weights(sample: Sample) -> Sample:
    """Zeros and ones that a program begins with hide what is multiplied with them, or added."""

    def prepare(program: Any) -> Any:
        generator = torch.Generator().manual_seed(0)
        with torch.no_grad():
            for weight in _weights(program):
                drawn = torch.rand(weight.shape, generator=generator, dtype=torch.float64).to(weight.dtype)
                weight.mul_(0.5 + drawn).add_(0.25 * drawn)
            for kept in list(kept_to_be_set(program)):
                drawn = torch.rand(kept.tensor.shape, generator=generator, dtype=torch.float64).to(kept.tensor.dtype)
                kept.put(kept.tensor * (0.5 + drawn) + 0.25 * drawn)
        return program

    return _in_mode(sample, "with other weights", prepare=prepare)


def pruned(program: Any) -> Iterator[Callable[[Sample], Sample]]:
    """The same input with the last row of each weight zero (one that holds one number: zero), as pruning leaves them
    and gates begin: what is divided by one is no zero, whatever zero it is multiplied with."""
    if isinstance(program, torch.nn.Module) and any(True for _ in _saved_floats(program)):
        yield _with_pruned_weights


def _with_pruned_weights(sample: Sample) -> Sample:
    def prepare(program: Any) -> Any:
        with torch.no_grad():
            for weight in _saved_floats(program):
                (weight[-1:] if weight.dim() else weight).zero_()
        return program

    return _in_mode(sample, "with the last row of each weight zero", prepare=prepare)


def _saved_floats(program: torch.nn.Module) -> Iterator[torch.Tensor]:
    """Parameters and buffers that are saved, of floating-point numbers."""
    saved = _saved(program)
    for name, tensor in itertools.chain(parameters_of(program), buffers_of(program)):
        is_there = name in saved and not torch.nn.parameter.is_lazy(tensor) and tensor.numel() > 0
        if is_there and tensor.is_floating_point() and is_ordinary(tensor):
            yield tensor


def _weights(program: torch.nn.Module) -> Iterator[torch.Tensor]:
    """Parameters, statistics of batches, and buffers that are saved and alike all over: what training changes, and what
    stays positive where it was. A buffer with a pattern (frequencies, anchors, a mask) is mostly a constant."""
    saved = _saved(program)
    changing = (
        (name, buffer)
        for name, buffer in program.named_buffers()
        if "running_" in name or (name in saved and is_uniform(buffer))
    )
    for _, tensor in itertools.chain(program.named_parameters(), changing):
        if not torch.nn.parameter.is_lazy(tensor) and tensor.is_floating_point() and is_ordinary(tensor):
            yield tensor


def _saved(program: torch.nn.Module) -> frozenset[str]:
    """The names in its state dict; none where the program's own hooks refuse to give one."""
    try:
        return frozenset(program.state_dict())
    except Exception:
        return frozenset()


def in_double_precision(sample: Sample) -> Sample:
    """The same input and weights in double precision."""

    def widened(leaf: Any) -> Any:
        is_single = isinstance(leaf, torch.Tensor) and leaf.dtype is torch.float32 and is_ordinary(leaf)
        return in_double(leaf) if is_single else leaf

    return _in_mode(
        sample,
        "in double precision",
        change=widened,
        prepare=lambda program: program.double() if isinstance(program, torch.nn.Module) else program,
    )


def _in_half(dtype: torch.dtype, mode: str, sample: Sample) -> Sample:
    def narrowed(leaf: Any) -> Any:
        is_single = isinstance(leaf, torch.Tensor) and leaf.dtype is torch.float32 and is_ordinary(leaf)
        return leaf.detach().to(dtype) if is_single else leaf

    def prepare(program: Any) -> Any:
        return program.to(dtype) if isinstance(program, torch.nn.Module) else program

    # gradients of half precision overflow and vanish in the kernels' own ways
    return replace(_in_mode(sample, mode, change=narrowed, prepare=prepare), differentiable=False)


def _in_bfloat16(sample: Sample) -> Sample:
    return _in_half(torch.bfloat16, "in bfloat16", sample)


def _large_in_half(sample: Sample) -> Sample:
    """Numbers about as large as each other, of which half precision holds each and hardly the sum of two: a mean adds
    them up in single precision."""

    def enlarged(leaf: Any) -> Any:
        if not (isinstance(leaf, torch.Tensor) and leaf.dtype is torch.float16 and is_ordinary(leaf) and leaf.numel()):
            return leaf
        largest = float(leaf.detach().abs().amax())
        return ((leaf / largest + 7) * (_LARGE / 8)).detach() if 0 < largest < math.inf else leaf

    narrowed = _in_half(torch.float16, f"{_HALF} with large numbers", sample)
    return replace(narrowed, make=with_leaves(narrowed, lambda leaves: list(map(enlarged, leaves))))


def _in_integers(times: int, sample: Sample) -> Sample:
    """The nearest integers to so many times the numbers: of small ones, one alone comes to the side that they took."""

    def whole(leaf: Any) -> Any:
        is_float = isinstance(leaf, torch.Tensor) and leaf.is_floating_point() and is_ordinary(leaf)
        return rounded(leaf, times) if is_float else leaf

    mode = INTEGERS if times == 1 else f"{INTEGERS} {times} times as large"
    changed = _in_mode(sample, mode, change=whole)
    return replace(changed, differentiable=False, mode=INTEGERS)


def _under_autocast(sample: Sample) -> Sample:
    """In bfloat16 where autocast says so: an arm that multiplies matrices has another dtype than one that adds."""
    autocast = partial(torch.autocast, "cpu", torch.bfloat16)
    inside = replace(_in_mode(sample, AUTOCAST), differentiable=False)
    return replace(inside, around=autocast, rough=True)


def _with_rows(count: int, sample: Sample) -> Sample:
    """The first tensor's first rows, and no more of any dimension that is as long: sizes that are equal go together."""

    def with_fewer(leaves: list[Any]) -> list[Any]:
        rows = next((leaf.shape[0] for leaf in leaves if isinstance(leaf, torch.Tensor) and leaf.dim()), count)

        def cut(leaf: Any) -> Any:
            if not isinstance(leaf, torch.Tensor) or not is_ordinary(leaf) or rows <= count or rows not in leaf.shape:
                return leaf
            places = tuple(slice(count) if size == rows else slice(None) for size in leaf.shape)
            return leaf.detach()[places].clone().requires_grad_(leaf.requires_grad)

        return list(map(cut, leaves))

    mode, make = OTHER_SIZES[1 - count], with_leaves(sample, with_fewer)
    return replace(sample, label=f"{sample.label}, {mode}", declared=False, make=make, mode=mode)


def changes_of(sample: Sample, parameters: Sequence[str]) -> Iterator[Callable[[Sample], Sample]]:
    """The same input with one argument changed, each argument in turn: what an arm that is not taken may choke on."""
    found = [
        [partial(_with_leaf, index, f"{leaf_name(path, parameters)} {text}", change) for text, change in _changes(leaf)]
        for index, (path, leaf) in enumerate(pytree.tree_flatten_with_path(sample.make())[0])
    ]
    for one_of_each in itertools.zip_longest(*found):
        yield from (change for change in one_of_each if change is not None)


def poisoned(sample: Sample, parameters: Sequence[str]) -> Iterator[Callable[[Sample], Sample]]:
    """The same input with a NaN in one floating-point argument, each in turn, and gradients flowing into all: what is
    computed and not chosen may read it."""
    for index, (path, leaf) in enumerate(pytree.tree_flatten_with_path(sample.make())[0]):
        if isinstance(leaf, torch.Tensor) and leaf.is_floating_point() and is_ordinary(leaf) and leaf.numel():
            yield partial(_with_nan, index, f"{leaf_name(path, parameters)} one nan")


def _with_nan(index: int, text: str, sample: Sample) -> Sample:
    with_nan = _with_leaf(index, text, lambda tensor: _with_last(tensor, math.nan), sample)
    return replace(requiring_grad(with_nan), mode=UNREAD)


def _changes(leaf: Any) -> Sequence[tuple[str, Callable[[torch.Tensor], Any]]]:
    if not isinstance(leaf, torch.Tensor) or not is_ordinary(leaf) or not leaf.numel():
        return ()
    if leaf.is_floating_point():
        return (
            ("large", lambda t: t * 1e4),
            ("all zero", torch.zeros_like),
            ("one inf", lambda t: _with_last(t, math.inf)),
            ("negative", lambda t: -t.abs()),
            ("one nan", lambda t: _with_last(t, math.nan)),
            ("huge", lambda t: t.clamp(-1, 1) * (torch.finfo(t.dtype).max / 8)),
            ("first row zero", lambda t: torch.cat((torch.zeros_like(t[:1]), t[1:])) if t.dim() else t * 0),
        )
    if is_integer(leaf):
        return (
            ("all zero", torch.zeros_like),
            ("one over the limit", lambda t: _with_last(t, int(t.max()) + 1)),
            ("one negative", lambda t: _with_last(t, -1)),
            (f"one {FAR_BELOW}", lambda t: _with_last(t, FAR_BELOW)),
        )
    if leaf.dtype is torch.bool:
        return (("all false", torch.zeros_like), ("all true", torch.ones_like), ("inverted", torch.logical_not))
    return ()


def _with_last(tensor: torch.Tensor, value: float) -> torch.Tensor:
    row = tensor.contiguous().reshape(-1).clone()
    row[-1] = value
    return row.reshape(tensor.shape)


def _with_leaf(index: int, text: str, change: Callable[[torch.Tensor], torch.Tensor], sample: Sample) -> Sample:
    """One leaf changed; where it is finite, gradients flow into all."""
    label = f"{sample.label}, {text}"
    is_finite = not label.endswith(NOT_FINITE)

    def with_one_changed(leaves: list[Any]) -> list[Any]:
        changed = change(leaves[index].detach().clone())
        leaves[index] = changed.requires_grad_() if leaves[index].requires_grad else changed
        return list(map(_letting_flow, leaves)) if is_finite else leaves

    make = with_leaves(sample, with_one_changed)
    return replace(sample, label=label, declared=False, make=make, differentiable=is_finite)


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
    label, make = f"{sample.label}, {mode}", with_leaves(sample, lambda leaves: list(map(change, leaves)))
    before = sample.prepare
    return replace(
        sample, label=label, declared=False, make=make, prepare=lambda program: prepare(before(program)), mode=mode
    )


def _letting_flow(leaf: Any) -> Any:
    if isinstance(leaf, torch.Tensor) and is_ordinary(leaf) and leaf.is_floating_point() and not leaf.requires_grad:
        return letting_gradients_flow(leaf)
    return leaf
