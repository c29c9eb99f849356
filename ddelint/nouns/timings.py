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
    "programs": "loading and running the entry",
    "attempt": "loading and running the entry",
    "types": "loading and running the entry",
    "trace": "tracing",
    "measure": "measuring",
    "parity": "measuring",
    "save": "saving inputs",
}
_WIDTH = 44


class Timings:
    """By step, in the order in which steps first came: wall seconds that were waited, CPU seconds of the worker."""

    def __init__(self) -> None:
        self._started = time.perf_counter()
        self._spent: dict[str, list[float]] = {}
        self._cpu: dict[str, list[float]] = {}

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """What happens within counts as `name`."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self._spent.setdefault(name, []).append(time.perf_counter() - started)

    def spent(self, name: str, cpu: float) -> None:
        """`name` took so many CPU seconds of the worker's processes, whoever waited for them."""
        self._cpu.setdefault(name, []).append(cpu)

    def requests(self) -> dict[str, tuple[int, float]]:
        """Step → how often, and CPU seconds of the worker."""
        return {name: (len(cpu), sum(cpu)) for name, cpu in self._cpu.items()}

    def lines(self) -> list[str]:
        """The table: the step, how often, seconds waited, their share of the time since this began, CPU seconds."""
        whole = time.perf_counter() - self._started
        reported = sum(map(sum, self._spent.values()))
        rows = [
            (name, max(len(spent), len(self._cpu.get(name, ()))), sum(spent), sum(self._cpu.get(name, ())))
            for name, spent in self._spent.items()
        ]
        rows.append(("reading, rewriting and everything else", 1, max(whole - reported, 0.0), 0.0))
        head = f"{'time':{_WIDTH}} {'calls':>5} {'waited':>8} {'share':>6} {'CPU':>7}"
        return [
            head,
            *(
                f"{name:{_WIDTH}} {calls:5} {spent:8.1f} {spent / whole:6.0%} {cpu:7.1f}"
                for name, calls, spent, cpu in rows
            ),
            f"{'all':{_WIDTH}} {'':5} {whole:8.1f} {'':6} {sum(cpu for *_, cpu in rows):7.1f}",
        ]


def step_of(method: str, arguments: Mapping[str, Any]) -> str:
    """What a request to the worker is for, in words."""
    if method == "compare":
        return f"comparing in eager, {'a few inputs' if arguments['quick'] else 'all inputs'}"
    if method == "compile":
        return "verifying with Inductor" if arguments["backend"] == "inductor" else "verifying with front ends alone"
    return _STEPS.get(method, method)
