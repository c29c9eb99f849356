"""Random numbers: whether generators have moved, and those that a program keeps itself."""

from __future__ import annotations

import hashlib
import random
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import torch


def digest() -> int:
    """Changes whenever torch's, Python's or numpy's own generator moves."""
    states: list[Any] = [torch.get_rng_state().numpy().tobytes(), random.getstate()]
    numpy = _numpy_random()
    if numpy is not None:
        state = numpy.get_state()
        states.append((state[0], state[1].tobytes(), *state[2:]))
    return hash(tuple(states))


def is_generator(value: Any) -> bool:
    """Whether a value is a generator of random numbers, of torch, Python or numpy, whose state can be read.

    That of `random.SystemRandom`, which asks the system, cannot.
    """
    numpy = _numpy_random()
    known = (torch.Generator, random.Random, *((numpy.Generator, numpy.RandomState) if numpy is not None else ()))
    if not isinstance(value, known):
        return False
    try:
        _state(value)
    except Exception:
        return False
    return True


def state_of(generator: Any) -> str:
    """A text that changes whenever the generator moves."""
    state = _state(generator)
    held = state.numpy().tobytes() if isinstance(state, torch.Tensor) else repr(state).encode()
    return f"state {hashlib.blake2b(held, digest_size=4).hexdigest()}"


def restoring(generator: Any) -> Callable[[], None]:
    """What puts a generator back to where it is now."""
    state = _state(generator)
    if isinstance(generator, random.Random):
        return partial(generator.setstate, state)
    if hasattr(generator, "set_state"):
        return partial(generator.set_state, state)
    return partial(setattr, generator.bit_generator, "state", state)


def _state(generator: Any) -> Any:
    """What a generator goes on from. Raises what the generator raises that has none."""
    if isinstance(generator, random.Random):
        return generator.getstate()
    return generator.get_state() if hasattr(generator, "get_state") else generator.bit_generator.state


def _numpy_random() -> Any:
    numpy = sys.modules.get("numpy")
    return getattr(numpy, "random", None)
