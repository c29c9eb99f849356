"""Where the time of a check goes: what was asked of the worker, how often, and how long it took."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

IMPORTING = "importing torch"
_STEPS = {
    "open": "loading and running the entry",
    "enter": "loading and running the entry",
    "types": "loading and running the entry",
    "trace": "tracing",
    "measure": "measuring",
    "parity": "measuring",
    "save": "saving inputs",
}
_WIDTH = 44


class Timings:
    """Wall seconds by step, in the order in which steps first came."""

    def __init__(self) -> None:
        self._started = time.perf_counter()
        self._spent: dict[str, list[float]] = {}

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """What happens within counts as `name`."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self._spent.setdefault(name, []).append(time.perf_counter() - started)

    def lines(self) -> list[str]:
        """The table: the step, how often, seconds, and the share of the time since this began to count."""
        whole = time.perf_counter() - self._started
        told = sum(map(sum, self._spent.values()))
        rows = [(name, len(spent), sum(spent)) for name, spent in self._spent.items()]
        rows.append(("reading, rewriting and everything else", 1, max(whole - told, 0.0)))
        head = f"{'time':{_WIDTH}} {'calls':>5} {'seconds':>8} {'share':>6}"
        return [
            head,
            *(f"{name:{_WIDTH}} {calls:5} {spent:8.1f} {spent / whole:6.0%}" for name, calls, spent in rows),
            f"{'all':{_WIDTH}} {'':5} {whole:8.1f}",
        ]


def step_of(method: str, arguments: Mapping[str, Any]) -> str:
    """What a request to the worker is for, in words."""
    if method == "compare":
        return f"comparing in eager, {'a few inputs' if arguments['quick'] else 'all inputs'}"
    if method == "compile":
        return "verifying with Inductor" if arguments["backend"] == "inductor" else "verifying with front ends alone"
    return _STEPS.get(method, method)
