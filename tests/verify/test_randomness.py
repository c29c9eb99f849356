"""Generators of random numbers: which have a state that can be watched."""

from __future__ import annotations

import random
from typing import Any

import numpy
import pytest
import torch

from ddelint.verify.randomness import is_generator, restoring, state_of


class Entropy(random.Random):
    """Asks for numbers elsewhere, and has no state."""

    def getstate(self) -> Any:
        raise OSError("no state here")


def draw(generator: Any) -> float:
    if isinstance(generator, torch.Generator):
        return torch.rand((), generator=generator).item()
    return float(generator.random() if hasattr(generator, "random") else generator.rand())


@pytest.mark.parametrize(
    "generator",
    [
        pytest.param(torch.Generator(), id="torch"),
        pytest.param(random.Random(3), id="Python"),
        pytest.param(numpy.random.default_rng(3), id="numpy"),
        pytest.param(numpy.random.RandomState(3), id="numpy, legacy"),
    ],
)
def test_a_generator_is_seen_to_move_and_put_back(generator: Any) -> None:
    assert is_generator(generator)
    before, restore = state_of(generator), restoring(generator)
    first = draw(generator)
    assert state_of(generator) != before
    restore()
    assert state_of(generator) == before
    assert draw(generator) == first


@pytest.mark.parametrize("value", [random.SystemRandom(), Entropy(), numpy.random, random, 7])
def test_what_has_no_state_is_no_generator_to_watch(value: Any) -> None:
    assert not is_generator(value)
