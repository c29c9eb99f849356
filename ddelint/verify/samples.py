"""One input set of a program."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from ddelint.trace.entries import seed_everything
from ddelint.trace.entry import Arguments, Entry

REQUIRING_GRAD = "inputs that require grad"
"""Label of the variation that lets gradients flow into floating-point inputs."""
NOT_FINITE = (" inf", " -inf", " nan")
"""How labels of inputs with infinities and NaN of our own making end."""


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
    """Which one."""


def fresh(entry: Entry, seed: int) -> Arguments:
    """The entry's own arguments for `seed`, with every random generator seeded before."""
    seed_everything(seed)
    return entry.inputs(seed)


def is_ordinary(tensor: torch.Tensor) -> bool:
    """A dense tensor on the CPU whose elements can be set."""
    return (
        tensor.layout is torch.strided
        and tensor.device.type == "cpu"
        and not tensor.is_nested
        and not tensor.is_quantized
        and type(tensor) in (torch.Tensor, torch.nn.Parameter)
    )
