"""Lanes of a session that begins without its processes: what is known already needs none."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

from ddelint.nouns.protocol import EntryFailure
from ddelint.nouns.wire import to_wire
from ddelint.trace.lanes import Lanes, Reply, Request


class LateLanes:
    """As Lanes. The first request that is begun starts the processes, and waits until they have the entry."""

    def __init__(
        self, width: int, load: Callable[[], object], start: Callable[[float | None], Lanes | EntryFailure]
    ) -> None:
        """`load` waits for torch, `start` for the entry, until a moment.

        `width`: how many requests can be answered at a time, once they are.
        """
        self._width = width
        self._load, self._start = load, start
        self._lanes: Lanes | EntryFailure | None = None
        self._ends_at: float | None = None

    @property
    def ends_at(self) -> float | None:
        """As Lanes.ends_at."""
        return self._ends_at

    @ends_at.setter
    def ends_at(self, moment: float | None) -> None:
        self._ends_at = moment
        if isinstance(self._lanes, Lanes):
            self._lanes.ends_at = moment

    @property
    def secrets(self) -> list[str]:
        """As Lanes.secrets; none are needed before there is anybody to tell."""
        return []

    @property
    def is_started(self) -> bool:
        """Whether something was asked that was not known."""
        return self._lanes is not None

    @property
    def width(self) -> int:
        """As Lanes.width."""
        return self._lanes.width if isinstance(self._lanes, Lanes) else self._width

    def begin(self, line: bytes, *, anywhere: bool, then: Callable[[Reply], None] | None = None) -> Request:
        """As Lanes.begin. Where the processes cannot be started, the answer says so."""
        if self._lanes is None:
            began = monotonic()
            self._load()
            if self._ends_at is not None:  # loading torch never counts, whenever it happens
                self._ends_at += monotonic() - began
            self._lanes = self._start(self._ends_at)
            self.ends_at = self._ends_at
        if isinstance(self._lanes, Lanes):
            return self._lanes.begin(line, anywhere=anywhere, then=then)
        request = Request(line, anywhere=anywhere, then=then)
        request.reply = {"failure": to_wire(self._lanes)}
        if then is not None:
            then(request.reply)
        return request

    def wait(self, request: Request) -> Reply | None:
        """As Lanes.wait."""
        return self._lanes.wait(request) if isinstance(self._lanes, Lanes) else request.reply

    def drop(self, request: Request) -> None:
        """As Lanes.drop."""
        if isinstance(self._lanes, Lanes):
            self._lanes.drop(request)

    def close(self) -> None:
        """As Lanes.close."""
        if isinstance(self._lanes, Lanes):
            self._lanes.close()
