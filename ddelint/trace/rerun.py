"""What lets a program run again as if it had not run before: modules, random numbers, logs and warnings."""

from __future__ import annotations

import contextlib
import logging
import random
import sys
import warnings
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

import torch


@contextlib.contextmanager
def restored(modules: list[torch.nn.Module]) -> Iterator[None]:
    """Undo what a run does to the attributes of modules, one level deep in their lists, dicts and sets."""
    before = [(m.__dict__, {k: (v, _shallow(v)) for k, v in m.__dict__.items()}) for m in modules]
    try:
        yield
    finally:
        for attributes, saved in before:
            attributes.clear()
            for name, (value, copy) in saved.items():
                attributes[name] = value
                if copy is not None:
                    _refill(value, copy)


def _shallow(value: Any) -> Any:
    return value.copy() if type(value) in _CONTAINERS else None


def _refill(value: Any, copy: Any) -> None:
    if isinstance(value, list):
        value[:] = copy
    else:
        value.clear()
        value.update(copy)


_CONTAINERS = frozenset((list, dict, set, OrderedDict))


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """No logs and no warnings: a path that cannot be is torch's to complain about, and ours to leave."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)


@contextlib.contextmanager
def same_randomness() -> Iterator[None]:
    """Each run draws the same random numbers, so that a plan leads where it led before."""
    numpy = sys.modules.get("numpy")
    states = (random.getstate(), torch.get_rng_state(), numpy.random.get_state() if numpy else None)
    random.seed(0)
    torch.manual_seed(0)
    if numpy is not None:
        numpy.random.seed(0)
    try:
        yield
    finally:
        random.setstate(states[0])
        torch.set_rng_state(states[1])
        if numpy is not None and states[2] is not None:
            numpy.random.set_state(states[2])
