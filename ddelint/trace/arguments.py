"""Arguments of a call: read from what a user gives, and made again, equal and apart."""

from __future__ import annotations

import copy
import random
import sys
from collections.abc import Mapping
from typing import Any

import torch
from torch.utils import _pytree as pytree

from ddelint.trace.entry import Arguments, EntryProblem


def seed_everything(seed: int) -> None:
    """Seed torch, random and, where it is loaded, numpy."""
    # torch.manual_seed also queues a call, with its stack, for every kind of device that was never used: 2 ms each time
    torch.default_generator.manual_seed(seed)
    if torch.cuda.is_initialized():
        torch.cuda.manual_seed_all(seed)
    random.seed(seed)
    numpy = sys.modules.get("numpy")
    if numpy is not None and hasattr(numpy, "random"):
        numpy.random.seed(seed % 2**32)


def fresh_copy(value: Any) -> Any:
    """A deep copy in which no tensor shares memory with the original; what cannot be copied is passed on."""
    try:
        return copy.deepcopy(value)
    except Exception:
        # tensors that are the result of an operation refuse deepcopy: give the same values as leaves
        return pytree.tree_map(_copy_leaf, value)


def _copy_leaf(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.detach().clone().requires_grad_(value.requires_grad)
    try:
        return copy.deepcopy(value)
    except Exception:
        return value


def as_arguments(value: Any, name: str) -> Arguments:
    """Positional and keyword arguments from what a user gives: a tuple, `(args, kwargs)`, a dict, or one tensor."""
    match value:
        case (tuple() | list() as args, dict() as kwargs) if all(isinstance(key, str) for key in kwargs):
            return tuple(args), dict(kwargs)
        case tuple() | list():
            return tuple(value), {}
        case Mapping() if all(isinstance(key, str) for key in value):
            return (), dict(value)
        case torch.Tensor():
            return (value,), {}
    raise EntryProblem(
        "bad-inputs", f"{name} must give a tuple of arguments or (args, kwargs), not {type(value).__name__}"
    )
