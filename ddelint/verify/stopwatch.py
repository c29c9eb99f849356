"""How long something takes, whatever else the machine does: what is tried, and so a label, is not to hang on that."""

from __future__ import annotations

from time import perf_counter, process_time

WAITING = 2.0
"""So many times as long as it computes a process may take, for it waits, sleeps, or others compute beside it."""


class Stopwatch:
    """Seconds that this process has computed since it was made, or half of those that passed, where these are more."""

    def __init__(self) -> None:
        self._passed, self._computed = perf_counter(), process_time()

    def seconds(self) -> float:
        """So far."""
        return max(process_time() - self._computed, (perf_counter() - self._passed) / WAITING)
