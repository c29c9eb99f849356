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
    """Whether a value is a generator of random numbers, of torch, Python or numpy."""
    if isinstance(value, (torch.Generator, random.Random)):
        return True
    numpy = _numpy_random()
    return numpy is not None and isinstance(value, (numpy.Generator, numpy.RandomState))


def state_of(generator: Any) -> str:
    """A text that changes whenever the generator moves."""
    if isinstance(generator, torch.Generator):
        state = generator.get_state().numpy().tobytes()
    else:
        known = generator.getstate() if isinstance(generator, random.Random) else _numpy_state(generator)
        state = repr(known).encode()
    return f"state {hashlib.blake2b(state, digest_size=4).hexdigest()}"


def restoring(generator: Any) -> Callable[[], None]:
    """What puts a generator back to where it is now."""
    if isinstance(generator, torch.Generator):
        return partial(generator.set_state, generator.get_state())
    if isinstance(generator, random.Random):
        return partial(generator.setstate, generator.getstate())
    if hasattr(generator, "set_state"):
        return partial(generator.set_state, generator.get_state())
    return partial(setattr, generator.bit_generator, "state", _numpy_state(generator))


def _numpy_state(generator: Any) -> Any:
    return generator.get_state() if hasattr(generator, "get_state") else generator.bit_generator.state


def _numpy_random() -> Any:
    numpy = sys.modules.get("numpy")
    return getattr(numpy, "random", None)
