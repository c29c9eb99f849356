"""One input set of a program."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils import _pytree as pytree

from ddelint.trace.arguments import seed_everything
from ddelint.trace.entry import Arguments, Entry

REQUIRING_GRAD = "inputs that require grad"
"""Label of the variation that lets gradients flow into floating-point inputs."""
BEHIND = "behind an infinity or NaN"
"""The mode in which gradients flow into inputs of which the program reads one that is not finite."""
UNREAD = "with a NaN beside"
"""The mode in which a NaN stands in one argument of an input that takes another side, and gradients flow: there only
whose gradients are not finite counts."""
AUTOCAST = "under autocast"
IN_A_ROW = "in a row"
"""The mode in which one instance is called on one input after the other."""
CALLS_IN_A_ROW = 12
"""So many: what happens on each n-th call alone shows."""


@dataclass(frozen=True)
class Sample:
    """One input set. `make` gives fresh arguments each time; it raises what the user's function raises."""

    label: str
    declared: bool
    """Whether it came from the user, not from our variations."""
    make: Callable[[], Arguments]
    differentiable: bool = True
    """Whether gradients mean something (not behind an inf or nan of our own making)."""
    prepare: Callable[[Any], Any] = lambda program: program
    """Brings a program that was built into another mode than it was declared in."""
    mode: str = ""
    """Which one, or in what else it is not what was declared."""
    around: Callable[[], AbstractContextManager[object]] = contextlib.nullcontext
    """What its calls stand in, inside of the entry's own surroundings."""
    change: str = ""
    """How the argument that alone is of another kind goes by in its label: `w alone in double precision`."""
    seed: int = 0
    """What the random generators are seeded with before the first call; each further call has the next one."""
    rough: bool = False
    """Whether it is computed so coarsely that numbers say nothing: what is compared is their kind."""


def fresh(entry: Entry, seed: int) -> Arguments:
    """The entry's own arguments for `seed`, with every random generator seeded before."""
    seed_everything(seed)
    return entry.inputs(seed)


def with_leaves(sample: Sample, change: Callable[[list[Any]], list[Any]]) -> Callable[[], Arguments]:
    """What makes the arguments of an input set with their leaves (tensors, numbers, texts, in order) changed."""

    def make() -> Arguments:
        leaves, spec = pytree.tree_flatten(sample.make())
        args, kwargs = pytree.tree_unflatten(change(leaves), spec)
        return tuple(args), dict(kwargs)

    return make


def is_ordinary(tensor: torch.Tensor) -> bool:
    """A dense tensor on the CPU whose elements can be set."""
    return (
        tensor.layout is torch.strided
        and tensor.device.type == "cpu"
        and not tensor.is_nested
        and not tensor.is_quantized
        and type(tensor) in (torch.Tensor, torch.nn.Parameter)
    )
