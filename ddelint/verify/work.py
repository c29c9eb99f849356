"""How much eager does in a call: each operator, weighed by the elements that it reads and writes. A count, no time.

A fix that computes both sides of a decision and chooses does what the branch saved: that is told, side by side.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

import torch

from ddelint.nouns.protocol import Slower
from ddelint.trace import torch_internals
from ddelint.trace.entry import Entry
from ddelint.verify.generated_code import knowledge
from ddelint.verify.references import Reference
from ddelint.verify.running import run_sample
from ddelint.verify.samples import Sample

_MOST = 8
"""Inputs that are looked at."""
_SECONDS = 2.0
"""What their first calls took together, at the most: each is called twice more, with every operator watched."""
_TOLD = 1.05
"""Times the work, from which on it is told."""


@dataclass(frozen=True)
class Work:
    """What one call did. `weight` is in elements read or written."""

    operators: int
    weight: float


def looked_at(references: Sequence[Reference]) -> list[Reference]:
    """A declared input for each set of sides that decisions took, as far as they are quickly run."""
    found: dict[tuple[tuple[str, frozenset[bool]], ...], Reference] = {}
    for reference in references:
        if reference.sample.declared and reference.base == reference.sample.label and reference.first.returned:
            found.setdefault(tuple((key, frozenset(sides)) for key, sides in reference.sides.items()), reference)
    sums = accumulate(reference.first.seconds for reference in found.values())
    return [one for one, seconds in zip(found.values(), sums) if seconds <= _SECONDS][:_MOST]


def work(entry: Entry, sample: Sample) -> Work | None:
    """What the entry does on an input in eager, without a backward pass; None where it doesn't return."""
    count = _counter()
    counted = replace(sample, around=lambda: count, differentiable=False)
    calls = run_sample(entry, counted, twice=False, patience=None, once=True)
    return Work(count.operators, count.weight) if calls and calls[0].returned else None


def slower(
    references: Sequence[Reference], before: Sequence[Work | None], after: Sequence[Work | None]
) -> list[Slower]:
    """The inputs on which eager does more than it did, the worst first."""
    found = []
    for reference, one, other in zip(references, before, after):
        if one is not None and other is not None and other.weight > _TOLD * one.weight:
            sides = {key: sides == {True} for key, sides in reference.sides.items() if len(sides) == 1}
            times = other.weight / max(one.weight, 1.0)
            found.append(Slower(reference.sample.label, times, other.operators, one.operators, sides))
    return sorted(found, key=lambda each: -each.times)


def _counter() -> Any:
    table = knowledge()["work"]

    class Counter(torch_internals.dispatch_mode()):  # type: ignore[misc]
        operators = 0
        weight = 0.0

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            found = func(*args, **(kwargs or {}))
            if not _is_view(func):
                self.operators += 1
                elements = sum(tensor.numel() for tensor in _tensors((args, kwargs, found)))
                operations = torch_internals.operations_of(func, args, kwargs or {}, found)
                self.weight += table["operator"] + elements + operations / table["operations"]
            return found

    return Counter()


def _is_view(operator: Any) -> bool:
    """Whether an operator only looks at memory: its results share some, and it writes none."""
    shared = [value.alias_info for value in operator._schema.returns if value.alias_info is not None]
    return bool(shared) and not any(alias.is_write for alias in shared)


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    return (leaf for leaf in torch_internals.leaves(value) if isinstance(leaf, torch.Tensor))
