"""Varied inputs: the declared ones first, then variations of them that try to reach both sides of decisions.

Random draws rarely find what breaks a rewrite; empty, all, none, all equal, all distinct and over the limit do. So the
variations are few, deliberate and in a fixed order, the telling ones first.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from torch.utils import _pytree as pytree

from ddelint.nouns.protocol import NOT_FINITE
from ddelint.trace.arguments import seed_everything
from ddelint.trace.entry import Arguments, Entry
from ddelint.verify.calls import letting_gradients_flow
from ddelint.verify.samples import REQUIRING_GRAD, Sample, fresh, is_ordinary

TIES = (" all equal", " all one", " all rows alike")
"""How labels of inputs with equal values end: there a gradient may go to one of them, or be shared."""
FAR_BELOW = -100
"""No index, and what torch's losses take for a label to leave out (`ignore_index`); -1 is the last one."""
_LOOKED_AT = 8
"""Declared inputs from which ranges and sizes are learned."""
_LARGEST = 1 << 22
"""Elements up to which a tensor is varied."""

Transform = Callable[[torch.Tensor], torch.Tensor]
"""A new tensor from a fresh copy of the declared one, of the same dtype and dimensions."""


def variations(entry: Entry, count: int, seed: int, *, extra: int = 0) -> Iterator[Sample]:
    """At most `count` input sets, and `extra` more: declared ones for seeds from `seed` on, then variations of them.

    An entry whose inputs take a seed gives half of them (repeated ones once). The order is the same in each run.
    Raises what the entry's inputs raise for the first seed (others are met by whoever makes the sample).
    """
    declared = _declared(entry, count, seed)
    yield from declared
    left = count + extra - len(declared)
    if left > 0:
        seen = _Seen(entry, seed)
        yield from itertools.islice(_varied(entry, seen, seed), left)


def _declared(entry: Entry, count: int, seed: int) -> list[Sample]:
    wanted = max(1, (count + 1) // 2) if entry.seeded else 1
    samples: list[Sample] = []
    known: set[int] = set()
    repeated = 0
    for number in range(seed, seed + wanted):
        samples_digest = _digest(entry, number)
        if samples_digest is not None and samples_digest in known:
            repeated += 1
            # a function that takes a seed and ignores it gives nothing new
            if repeated >= 8 and len(known) == 1:
                break
            continue
        known.add(samples_digest or number)
        samples.append(Sample(f"seed {number}", True, partial(fresh, entry, number), seed=number))
    return samples


def _digest(entry: Entry, seed: int) -> int | None:
    """Equal for equal inputs; None where some part cannot be compared."""
    try:
        leaves, spec = pytree.tree_flatten(fresh(entry, seed))
    except Exception:  # whoever makes the sample meets it again
        return None
    parts: list[Any] = [str(spec)]
    for leaf in leaves:
        if isinstance(leaf, torch.Tensor):
            if not is_ordinary(leaf) or leaf.numel() > _LARGEST:
                return None
            data = leaf.detach().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes() if leaf.numel() else b""
            parts.append((str(leaf.dtype), tuple(leaf.shape), data))
        elif leaf is None or isinstance(leaf, (bool, int, float, str)):
            parts.append((type(leaf).__name__, leaf))
        else:
            return None
    return hash(tuple(parts))


# ------------------------------------------------------------------------------------------ what the declared ones show


@dataclass
class _Leaf:
    """One tensor among the arguments, over all declared inputs that were looked at."""

    index: int
    name: str
    example: torch.Tensor
    low: int = 0
    high: int = 0
    sizes: tuple[tuple[int, ...], ...] = ()
    """Its shape in each declared input."""


class _Seen:
    """The tensors of the declared inputs: names, ranges of integers, sizes."""

    def __init__(self, entry: Entry, seed: int) -> None:
        self.entry = entry
        samples = []
        for number in range(seed, seed + (_LOOKED_AT if entry.seeded else 1)):
            try:
                samples.append(pytree.tree_flatten_with_path(fresh(entry, number))[0])
            except Exception:
                if number == seed:
                    raise
        first = samples[0]
        alike = [sample for sample in samples if [path for path, _ in sample] == [path for path, _ in first]]
        self.seeds = len(samples)
        self.leaves: list[_Leaf] = []
        for index, (path, value) in enumerate(first):
            if not isinstance(value, torch.Tensor) or not is_ordinary(value) or value.numel() > _LARGEST:
                continue
            others = [sample[index][1] for sample in alike]
            if not all(isinstance(other, torch.Tensor) and other.dtype == value.dtype for other in others):
                continue
            leaf = _Leaf(index, leaf_name(path, entry.parameters), value.detach().clone())
            leaf.sizes = tuple(tuple(other.shape) for other in others)
            if is_integer(value):
                extremes = [(int(o.min()), int(o.max())) for o in others if o.numel()]
                if extremes:
                    leaf.low, leaf.high = min(low for low, _ in extremes), max(high for _, high in extremes)
            self.leaves.append(leaf)
        self.longest = max((size for leaf in self.leaves for shape in leaf.sizes for size in shape), default=1)


def leaf_name(path: Sequence[Any], parameters: Sequence[str]) -> str:
    """`mask`, `boxes[0]`, `batch['ids']` for a path below (args, kwargs)."""
    top = path[0].idx if hasattr(path[0], "idx") else 0
    if len(path) < 2:
        return "arguments"
    position = getattr(path[1], "idx", None)
    if top == 0 and position is not None and position < len(parameters):
        name: str = parameters[position]
    else:
        name = str(getattr(path[1], "key", position))
    return name + str(pytree.keystr(tuple(path[2:])))


def is_integer(tensor: torch.Tensor) -> bool:
    """Whether its elements are integers (bools are not)."""
    return tensor.dtype in _INTEGERS


_INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)


# ---------------------------------------------------------------------------------------------------------- variations


def _varied(entry: Entry, seen: _Seen, seed: int) -> Iterator[Sample]:
    """Round after round, the next most telling variation of each argument; then random ones without end."""
    streams: list[Iterator[tuple[str, dict[int, Transform]]]] = []
    ranked = sorted(seen.leaves, key=_rank)
    streams += [_of_leaf(leaf, seen) for leaf in ranked if _rank(leaf) == 0]
    streams.append(_of_sizes(entry, seen))
    streams += [_of_leaf(leaf, seen) for leaf in ranked if _rank(leaf) == 1]
    streams.append(_of_pairs(seen))
    streams += [_of_leaf(leaf, seen) for leaf in ranked if _rank(leaf) == 2]
    if any(leaf.example.is_floating_point() for leaf in seen.leaves):
        streams.append(iter([(REQUIRING_GRAD, _requiring_grad(seen))]))
    for number, (label, changes) in enumerate(_interleaved(streams)):
        yield replace(_sample(entry, label, changes, seed), seed=number)
    yield from _random(entry, seen, seed)


def _rank(leaf: _Leaf) -> int:
    """Masks and single numbers decide most, then integers, then floats."""
    if leaf.example.dtype is torch.bool or (leaf.example.dim() == 0 and not leaf.example.is_floating_point()):
        return 0
    return 1 if is_integer(leaf.example) else 2


def _interleaved(streams: list[Iterator[Any]]) -> Iterator[Any]:
    while streams:
        alive = []
        for stream in streams:
            try:
                item = next(stream)
            except StopIteration:
                continue
            alive.append(stream)
            yield item
        streams = alive


def _sample(entry: Entry, label: str, changes: dict[int, Transform], seed: int) -> Sample:
    def make() -> Arguments:
        leaves, spec = pytree.tree_flatten(fresh(entry, seed))
        seed_everything(seed)
        for index, transform in changes.items():
            leaves[index] = _applied(transform, leaves[index])
        args, kwargs = pytree.tree_unflatten(leaves, spec)
        return tuple(args), dict(kwargs)

    return Sample(label, False, make, differentiable=not label.endswith(NOT_FINITE))


def _applied(transform: Transform, leaf: torch.Tensor) -> torch.Tensor:
    changed = transform(leaf.detach().clone())
    if leaf.requires_grad and changed.is_floating_point() and not changed.requires_grad:
        changed = changed.detach().requires_grad_()
    return torch.nn.Parameter(changed, leaf.requires_grad) if isinstance(leaf, torch.nn.Parameter) else changed


def _of_leaf(leaf: _Leaf, seen: _Seen) -> Iterator[tuple[str, dict[int, Transform]]]:
    if leaf.example.dtype is torch.bool:
        found = _of_bools(leaf.example)
    elif is_integer(leaf.example):
        found = _of_number(leaf) if leaf.example.dim() == 0 else _of_integers(leaf, seen)
    elif leaf.example.is_floating_point():
        found = _of_float(leaf.example) if leaf.example.dim() == 0 else _of_floats(leaf.example)
    else:
        return
    known = {_bytes(leaf.example)}
    for text, transform in found:
        try:
            content = _bytes(transform(leaf.example.clone()))
        except (RuntimeError, OverflowError, ValueError):  # out of the dtype's range
            continue
        if content not in known:
            known.add(content)
            yield f"{leaf.name} {text}", {leaf.index: transform}


def _bytes(tensor: torch.Tensor) -> bytes:
    flat = tensor.detach().contiguous().reshape(-1)
    return flat.view(torch.uint8).numpy().tobytes() if flat.numel() else b""


def _filled(value: Any) -> Transform:
    return lambda t: t.fill_(value)


def _flat(change: Callable[[torch.Tensor], Any]) -> Transform:
    """Change the elements, seen as one row, in place."""

    def transform(tensor: torch.Tensor) -> torch.Tensor:
        row = tensor.contiguous().reshape(-1)
        if not row.numel():  # a declared input may be empty for one seed and not for another
            return tensor
        changed = change(row)
        return (row if changed is None else changed.to(tensor.dtype)).reshape(tensor.shape)

    return transform


def _set(row: torch.Tensor, where: Any, value: Any) -> torch.Tensor:
    if row.numel():
        row[where] = value
    return row


def _of_bools(example: torch.Tensor) -> Iterator[tuple[str, Transform]]:
    yield "all false", _filled(False)
    yield "all true", _filled(True)
    if example.numel() < 2:
        return
    half = example.numel() // 2
    yield "one true", _flat(lambda row: _set(torch.zeros_like(row), row.numel() // 2, True))
    yield "exactly half true", _flat(lambda row: _set(torch.zeros_like(row), slice(half), True))
    yield "one false", _flat(lambda row: _set(torch.ones_like(row), row.numel() // 2, False))
    if example.dim() > 1:
        yield "first row false", lambda t: _set(torch.ones_like(t), 0, False)
        yield "first row true", lambda t: _set(torch.zeros_like(t), 0, True)
        yield "first column true", lambda t: _set(torch.zeros_like(t), (slice(None), 0), True)
    yield "alternating", _flat(lambda row: _set(torch.zeros_like(row), slice(None, None, 2), True))
    yield "inverted", lambda t: ~t
    yield "last true", _flat(lambda row: _set(torch.zeros_like(row), -1, True))


def _of_number(leaf: _Leaf) -> Iterator[tuple[str, Transform]]:
    """A single integer: the small ones, the ends of what was seen, and one beyond."""
    low, high = leaf.low, leaf.high
    values = [0, 1, high, low, high + 1, 2, (low + high) // 2, high - 1, low - 1, 3, 4]
    for value in dict.fromkeys(values):
        # a number may be a size: never more than one above what was seen
        if value <= max(high, 1) + 1 and (value >= 0 or low < 0):
            yield f"{value}", _filled(value)
    yield "-1", _filled(-1)
    yield f"{FAR_BELOW}", _filled(FAR_BELOW)


def _of_integers(leaf: _Leaf, seen: _Seen) -> Iterator[tuple[str, Transform]]:
    example, low, high = leaf.example, leaf.low, leaf.high
    span = max(high - low + 1, 1)
    row = example.reshape(-1)
    ordered = row.numel() >= 3 and bool((row[1:] >= row[:-1]).all()) and int(row[0]) < int(row[-1])
    total = int(row.sum()) if row.numel() else 0
    lengths = example.dim() == 1 and low >= 0 and high < total <= 4 * seen.longest
    if ordered:  # offsets, or sorted groups: keep order and ends
        yield "everything in the last step", _flat(lambda r: _set(r, slice(1, -1), int(r[0])))
        yield "everything in the first step", _flat(lambda r: _set(r, slice(1, -1), int(r[-1])))
    yield "all zero", _filled(0)
    if ordered:
        yield "even steps", _flat(lambda r: torch.linspace(float(r[0]), float(r[-1]), r.numel()).round().long())
    if lengths:  # counts that add up to something: keep the sum
        yield "everything in the first", _flat(lambda r: _set(torch.zeros_like(r), 0, total))
        yield "everything in the last", _flat(lambda r: _set(torch.zeros_like(r), -1, total))
        yield "evenly spread", _flat(lambda r: _spread(total, r.numel()))
    yield f"all {high}", _filled(high)
    yield "one over the limit", _flat(lambda r: _set(r, 0, high + 1))
    yield "all distinct", _flat(lambda r: torch.arange(r.numel()) % span + low)
    yield f"all {low}", _filled(low)
    yield "sorted", _flat(lambda r: r.sort().values)
    yield "lowest and highest in turn", _flat(lambda r: _set(r.fill_(low), slice(None, None, 2), high))
    yield "reversed", _flat(lambda r: r.flip(0))
    yield "one lowest, the rest highest", _flat(lambda r: _set(r.fill_(high), 0, low))
    yield "one highest, the rest lowest", _flat(lambda r: _set(r.fill_(low), -1, high))
    yield "all one", _filled(1)
    if example.dim() > 1:
        yield "all rows alike", lambda t: t[:1].expand_as(t).clone()
    yield f"all over the limit ({high + 1})", _filled(high + 1)
    yield "one negative", _flat(lambda r: _set(r, 0, -1))
    yield f"one {FAR_BELOW}", _flat(lambda r: _set(r, 0, FAR_BELOW))


def _spread(total: int, parts: int) -> torch.Tensor:
    each = torch.full((parts,), total // parts)
    each[: total % parts] += 1
    return each


def _of_float(example: torch.Tensor) -> Iterator[tuple[str, Transform]]:
    del example
    for value in (0.0, 1.0, math.nan, -1.0, 0.5, math.inf, 2.0, -0.0, 1e4, -1e4, 1e-6, -math.inf):
        yield f"{value:g}", _filled(value)


def _of_floats(example: torch.Tensor) -> Iterator[tuple[str, Transform]]:
    yield "all zero", _filled(0.0)
    yield "one nan", _flat(lambda r: _set(r, -1, math.nan))
    yield "large", lambda t: t * 1e4
    yield "negative", lambda t: -t.abs()
    yield "one inf", _flat(lambda r: _set(r, -1, math.inf))
    yield "first nan", _flat(lambda r: _set(r, 0, math.nan))  # what decides may be read off either end
    yield "all -0.0", _filled(-0.0)
    yield "all equal", _filled(0.5)
    yield "all equal but one", _flat(lambda r: _set(r.fill_(0.5), -1, 40.0))
    yield "first -inf", _flat(lambda r: _set(r, 0, -math.inf))
    yield "all nan", _filled(math.nan)
    yield "positive", lambda t: t.abs()
    if example.numel() > 1:
        yield "one large", _flat(lambda r: _set(r, 0, 1e4))
        yield "one zero", _flat(lambda r: _set(r, 0, 0.0))
    yield "tiny", lambda t: t * 1e-6
    if example.dim() > 1:
        yield "all rows alike", lambda t: t[:1].expand_as(t).clone()
    yield "all one", _filled(1.0)
    yield "sorted", _flat(lambda r: r.sort().values)
    yield "one -inf", _flat(lambda r: _set(r, -1, -math.inf))
    yield "first inf", _flat(lambda r: _set(r, 0, math.inf))


def _of_pairs(seen: _Seen) -> Iterator[tuple[str, dict[int, Transform]]]:
    """Two arguments of one shape and type made equal; all masks or all integers emptied at once."""
    for one, other in itertools.combinations(seen.leaves, 2):
        alike = one.example.shape == other.example.shape and one.example.dtype == other.example.dtype
        if alike and not torch.equal(one.example, other.example):
            yield f"{other.name} equal to {one.name}", {other.index: lambda t, same=one.example: same.clone()}  # type: ignore[misc]
    for dtype, empty in ((torch.bool, False), (torch.int64, 0), (torch.float32, 0.0)):
        group = [leaf for leaf in seen.leaves if leaf.example.dtype is dtype and leaf.example.dim()]
        if len(group) > 1:
            names = ", ".join(leaf.name for leaf in group)
            yield f"{names} all {empty}", {leaf.index: _filled(empty) for leaf in group}


def _requiring_grad(seen: _Seen) -> dict[int, Transform]:
    floats = [leaf for leaf in seen.leaves if leaf.example.is_floating_point()]
    return {leaf.index: letting_gradients_flow for leaf in floats}


# --------------------------------------------------------------------------------------------------------------- sizes


def _of_sizes(entry: Entry, seen: _Seen) -> Iterator[tuple[str, dict[int, Transform]]]:
    """Sizes 0, 1, 2 and one above what was seen, for dimensions that vary; those that go together change together."""
    groups = _size_groups(entry, seen)
    streams = [_of_size_group(group, seen) for group in groups]
    yield from _interleaved(streams)


def _size_groups(entry: Entry, seen: _Seen) -> list[list[tuple[_Leaf, int]]]:
    """Dimensions that must agree: of equal size in every declared input. Each group has a declared one first."""
    marked: list[tuple[_Leaf, int]] = []
    for leaf in seen.leaves:
        dimensions = {*entry.unbacked.get(leaf.name, ()), *entry.dynamic.get(leaf.name, ())}
        marked += [(leaf, d % leaf.example.dim()) for d in sorted(dimensions) if leaf.example.dim()]
    groups: list[list[tuple[_Leaf, int]]] = []
    for place in marked:
        for group in groups:
            if _history(group[0]) == _history(place):
                group.append(place)
                break
        else:
            groups.append([place])
    for group in groups:
        history = _history(group[0])
        if len(set(history)) > 1:  # others that follow it although nobody marked them
            for leaf in seen.leaves:
                for dimension in range(leaf.example.dim()):
                    place = (leaf, dimension)
                    if place not in group and _history(place) == history:
                        group.append(place)
    return groups


def _history(place: tuple[_Leaf, int]) -> tuple[int, ...]:
    leaf, dimension = place
    return tuple(shape[dimension] for shape in leaf.sizes)


def _of_size_group(group: list[tuple[_Leaf, int]], seen: _Seen) -> Iterator[tuple[str, dict[int, Transform]]]:
    history = _history(group[0])
    names = ", ".join(f"{leaf.name}.shape[{dimension}]" for leaf, dimension in group)
    for size in dict.fromkeys((0, 1, 2, max(history), max(history) + 1, 3)):
        if size != history[0] and size <= max(history) + 1:
            changes: dict[int, Transform] = {}
            for leaf, dimension in group:
                before = changes.get(leaf.index)
                changes[leaf.index] = _resized(dimension, size, before)
            yield f"{names} = {size}", changes


def _resized(dimension: int, size: int, before: Transform | None) -> Transform:
    def transform(tensor: torch.Tensor) -> torch.Tensor:
        tensor = tensor if before is None else before(tensor)
        length = tensor.shape[dimension]
        if length == 0:
            shape = list(tensor.shape)
            shape[dimension] = size
            return tensor.new_zeros(shape)
        return tensor.index_select(dimension, torch.arange(size) % length)

    return transform


# -------------------------------------------------------------------------------------------------------------- random


def _random(entry: Entry, seen: _Seen, seed: int) -> Iterator[Sample]:
    """Integers, masks and floats drawn anew within what was seen."""
    if not seen.leaves:
        return
    for number in itertools.count():
        changes: dict[int, Transform] = {}
        for leaf in seen.leaves:
            transform = _redrawn(leaf, number)
            if transform is not None:
                changes[leaf.index] = transform
        if not changes:
            return
        made = _sample(entry, f"random {number + 1}", changes, seed + number % (seen.seeds or 1))
        yield replace(made, seed=number)


def _redrawn(leaf: _Leaf, number: int) -> Transform | None:
    density = (0.5, 0.1, 0.9, 0.02)[number % 4]

    def generator() -> torch.Generator:
        return torch.Generator().manual_seed(7919 * number + leaf.index)

    if leaf.example.dtype is torch.bool:
        return lambda t: torch.rand(t.shape, generator=generator()) < density
    if is_integer(leaf.example):
        row = leaf.example.reshape(-1)
        kept = row.numel() >= 3 and bool((row[1:] >= row[:-1]).all())

        def draw(tensor: torch.Tensor) -> torch.Tensor:
            drawn = torch.randint(leaf.low, leaf.high + 1, tensor.shape, generator=generator()).to(tensor.dtype)
            if not kept:
                return drawn
            flat = drawn.reshape(-1).sort().values
            if flat.numel() >= 2:
                flat[0], flat[-1] = tensor.reshape(-1)[0], tensor.reshape(-1)[-1]
            return flat.reshape(tensor.shape)

        return draw
    if leaf.example.is_floating_point() and leaf.example.dtype in (torch.float32, torch.float64):
        return lambda t: _shuffled(t, generator())
    return None


def _shuffled(tensor: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """The same numbers elsewhere: whatever range they must lie in is kept."""
    flat = tensor.contiguous().reshape(-1)
    return flat[torch.randperm(flat.numel(), generator=generator)].reshape(tensor.shape)
