"""What one call of a program does: graph launches, kernels, and the times that the host waits for the device."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile

from ddelint.verify.generated_code import knowledge


@dataclass(frozen=True, slots=True)
class Profile:
    """Counts of one call. On a CPU `kernels` is what was called outside of Inductor's own kernels."""

    launches: int
    kernels: int
    host_syncs: int
    in_eager: int = 0
    """On a CPU: what was called outside of compiled graphs."""


def profiled(call: Callable[[], Any], device: str) -> Profile:
    """Run `call` once under the profiler. What it raises goes through."""
    activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if device == "cuda" else [])]
    with profile(activities=activities) as seen:
        call()
        if device == "cuda":
            torch.cuda.synchronize()
    events = list(seen.events() or ())
    launch = knowledge()["profile"]["launch"]
    launches = sum(event.name.startswith(launch) for event in events)
    if device == "cuda":
        return Profile(launches, sum(map(_is_kernel, events)), _waits(call))
    names = [(event.name, tuple(_parents(event))) for event in events]
    operators = [parents for name, parents in names if _is_operator(name, parents)]
    in_eager = sum(not any(parent.startswith(launch) for parent in parents) for parents in operators)
    return Profile(launches, len(operators), sum(_would_wait(*name) for name in names), in_eager)


def _is_kernel(event: Any) -> bool:
    """A kernel on the device, neither a copy nor a memset."""
    on_device = "CUDA" in str(event.device_type)
    return on_device and not event.name.startswith(("Memcpy", "Memset", "##", "aten::", "Torch-Compiled"))


def _parents(event: Any) -> Iterator[str]:
    parent = event.cpu_parent
    while parent is not None:
        yield parent.name
        parent = parent.cpu_parent


def _is_operator(name: str, parents: Sequence[str]) -> bool:
    """An operator that the program or Inductor's code calls itself, and that does more than look at memory."""
    table = knowledge()["profile"]
    inside = any(parent.startswith("aten::") for parent in parents)
    return name.startswith("aten::") and not inside and name not in table["metadata"]


def _would_wait(name: str, parents: Sequence[str]) -> bool:
    """An operator at which the host would wait for a GPU, reported once for what it calls itself."""
    waiting = knowledge()["profile"]["host_syncs"]
    return name in waiting and not any(parent in waiting for parent in parents)


def _waits(call: Callable[[], Any]) -> int:
    """How often the host waits for the GPU, as torch itself warns."""
    before = torch.cuda.get_sync_debug_mode()
    torch.cuda.set_sync_debug_mode("warn")
    try:
        with warnings.catch_warnings(record=True) as reported:
            warnings.simplefilter("always")
            call()
    finally:
        torch.cuda.set_sync_debug_mode(before)
    return sum("synchroniz" in str(warning.message) for warning in reported)
