"""What a fork of a process that has loaded torch needs before it computes."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
import torch

from ddelint.trace import warm_up
from ddelint.trace.isolation import Child, Limits, Supervisor


def test_a_fork_asks_for_its_threads_before_anything_else(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    monkeypatch.setattr(torch, "set_num_threads", asked.append)

    def tell(supervisor: Supervisor) -> None:
        supervisor.send(json.dumps(asked).encode())

    child = Child.start(tell)
    answer = child.receive(Limits(timeout=60))
    assert isinstance(answer, bytes)
    assert json.loads(answer) == [torch.get_num_threads()]
    assert asked == []


def test_no_gradients_are_taken_while_warming_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is a device, a process that has run a backward pass has no forks that could run one."""
    with_gradients: list[bool] = []

    def compiled(*_: Any, **__: Any) -> Callable[..., None]:
        return lambda *_: with_gradients.append(torch.is_grad_enabled())

    monkeypatch.setattr(torch, "compile", compiled)
    warm_up.lowering()
    assert with_gradients == [False]
