"""How long a call takes: Triton's own benchmark helper on a GPU, torch.utils.benchmark on a CPU."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.utils import benchmark

Call = Callable[[], Any]

TIMERS = {"cpu": "torch.utils.benchmark", "cuda": "triton.testing.do_bench"}
"""By device."""


def times_of(call: Call, seconds: float, device: str) -> list[float]:
    """Milliseconds of single runs (on a CPU: of means over short blocks of runs), for about so many seconds.

    The call must be compiled already. Raises ImportError where the device is a GPU and there is no Triton.
    """
    if device == "cpu":
        timer = benchmark.Timer("call()", globals={"call": call}, num_threads=torch.get_num_threads())
        measured = timer.blocked_autorange(min_run_time=seconds)
        return [1000.0 * time / measured.number_per_run for time in measured.raw_times]
    from triton.testing import do_bench

    milliseconds = max(1000.0 * seconds, 1.0)
    try:
        return list(do_bench(call, warmup=milliseconds / 4, rep=milliseconds, return_mode="all"))
    except (AssertionError, TypeError):  # an older Triton: quantiles stand for all runs
        return list(do_bench(call, warmup=milliseconds / 4, rep=milliseconds, quantiles=[0.25, 0.5, 0.75]))


def quartiles(times: Sequence[float]) -> tuple[float, float, float]:
    """(lower quartile, median, upper quartile). Raises ValueError for no times."""
    if not times:
        raise ValueError("no times")
    if len(times) == 1:
        return times[0], times[0], times[0]
    lower, middle, upper = statistics.quantiles(times, n=4, method="inclusive")
    return lower, middle, upper


def interleaved(calls: Sequence[Call], device: str, *, rounds: int, seconds: float) -> list[list[float]]:
    """The times of each call, measured in turns, so that what slows the machine for a while slows all of them."""
    times: list[list[float]] = [[] for _ in calls]
    for number in range(rounds):
        order = list(range(len(calls)))
        for index in order if number % 2 == 0 else reversed(order):
            times[index] += times_of(calls[index], seconds, device)
    return times
