"""Keeps one call from taking the whole request with it: inputs of our own making may ask for any size or any loop."""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
from collections.abc import Iterator
from time import perf_counter, process_time
from types import FrameType

from ddelint.trace import torch_internals
from ddelint.trace.landing import Landing

_GRACE = 1.0
"""Seconds that may pass until a call which is in torch's code is back in the user's."""
_AT_ONCE = 1e-3
_OUT_OF_MEMORY = ("allocate memory", "not enough memory", "DefaultCPUAllocator", "Storage size calculation overflowed")


class TooMuch(BaseException):
    """A call that took too long. No `except Exception` of the user's stops it."""


@contextlib.contextmanager
def limited(seconds: float | None, memory: int | None, *, waiting: float = 1.0) -> Iterator[None]:
    """Within: TooMuch is raised after `seconds`, and allocations that add more than `memory` bytes fail.

    Where it may be `waiting` (more than 1), the seconds are those that this process computes, and so many times as many
    may pass. It is raised in code of the user's if any was called within and goes on soon, and wherever the call stands
    otherwise; torch's thread is the same afterwards.

    Time is watched in the main thread only, memory on Linux only; elsewhere the limits of the whole request remain.
    """
    with contextlib.ExitStack() as stack:
        if memory is not None and sys.platform.startswith("linux"):
            stack.enter_context(_limited_memory(memory))
        if seconds is not None and threading.current_thread() is threading.main_thread():
            stack.enter_context(torch_internals.same_thread_state(TooMuch))
            landing = stack.enter_context(Landing(TooMuch, within=sys._getframe(2)))
            stack.enter_context(_limited_time(seconds * waiting, signal.SIGALRM, signal.ITIMER_REAL, landing))
            if waiting > 1.0:
                stack.enter_context(_limited_time(seconds, signal.SIGPROF, signal.ITIMER_PROF, landing))
        yield


def is_too_much(kind: str, message: str) -> bool:
    """Whether an exception says that an allocation failed."""
    return kind == "MemoryError" or (kind == "RuntimeError" and any(text in message for text in _OUT_OF_MEMORY))


@contextlib.contextmanager
def _limited_time(seconds: float, told_by: signal.Signals, timer: int, landing: Landing) -> Iterator[None]:
    def stop(number: int, frame: FrameType | None) -> None:
        if frame is not None and landing.postpones(frame, timer):
            signal.setitimer(timer, _GRACE)
        else:
            raise TooMuch

    outer, _ = signal.getitimer(timer)  # what is left of a limit around this one
    clock = perf_counter if timer == signal.ITIMER_REAL else process_time
    began = clock()
    before = signal.signal(told_by, stop)
    signal.setitimer(timer, min(seconds, outer) if outer else seconds)
    try:
        yield
    finally:
        signal.setitimer(timer, 0)
        signal.signal(told_by, before)
        if outer:
            signal.setitimer(timer, max(outer - (clock() - began), _AT_ONCE))


@contextlib.contextmanager
def _limited_memory(memory: int) -> Iterator[None]:
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    allowed = _virtual_memory() + memory
    ceilings = [limit for limit in (soft, hard) if limit != resource.RLIM_INFINITY]
    try:
        resource.setrlimit(resource.RLIMIT_AS, (min([allowed, *ceilings]), hard))
    except (ValueError, OSError):
        yield
        return
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def _virtual_memory() -> int:
    """Bytes of address space in use."""
    try:
        with open("/proc/self/statm", "rb") as file:
            pages = int(file.read().split()[0])
    except (OSError, ValueError, IndexError):
        return 1 << 46
    import resource

    return pages * resource.getpagesize()
