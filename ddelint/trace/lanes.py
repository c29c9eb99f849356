"""Requests of one session side by side: the parent's end of the channels to the processes that answer them.

The main lane leads to the session's keeper, which answers everything. Each other one leads to a clone of the zygote,
which answers what needs nothing else. What a clone is not sure about (its process died, memory ran out, new text could
not be loaded beside the old one) the main lane is asked again, when nothing else runs. So no answer depends on how
many lanes there are, and what all of them use together stays within what one request may use.
"""

from __future__ import annotations

import contextlib
import math
import secrets
import select
import socket
from collections.abc import Callable, Sequence
from json import loads
from time import monotonic
from typing import Any

from ddelint.nouns.protocol import LEAST_SECONDS

MOST_LANES = 8
"""Clones of one session, however many cores there are: what waits for an answer of the search keeps no more busy."""
GRACE_SECONDS = 2.0
"""For whoever answers to say that time is over, and where it was; then nobody waits any more."""
CANCEL = b'{"method": "cancel"}\n'
Reply = dict[str, Any]


class Request:
    """One request, under way or waiting for a lane."""

    def __init__(self, line: bytes, *, anywhere: bool, then: Callable[[Reply], None] | None = None) -> None:
        self.line = line
        self.anywhere = anywhere
        """Whether a clone may answer it."""
        self.then = then
        """What is done with the answer when it comes, where this runs in the background."""
        self.alone = False
        """Whether nothing else may run meanwhile."""
        self.reply: Reply | None = None
        self.is_dropped = False


class Lane:
    """A channel on which one request at a time is answered; each answer begins with the lane's secret."""

    def __init__(self, channel: socket.socket, secret: str = "") -> None:
        self.channel = channel
        self.secret = secret
        self.request: Request | None = None
        self.deadline = 0.0
        self._buffer = b""

    def send(self, request: Request, seconds: float | None) -> None:
        """Ask; the answer may take so long. That nobody is there any more is noticed by `receive`."""
        self.request = request
        limit = b"" if seconds is None else b'"seconds": %.3f, ' % seconds
        self.write(b"{" + limit + request.line.removeprefix(b"{"))

    def write(self, line: bytes) -> None:
        """Write a line."""
        with contextlib.suppress(OSError, ValueError):
            self.channel.sendall(line)

    def receive(self) -> Reply | None:
        """What has come, where that is a whole answer. Raises EOFError where the other end is gone, or is no clone."""
        try:
            received = self.channel.recv(2**20)
        except (OSError, ValueError):
            received = b""
        if not received:
            raise EOFError
        self._buffer += received
        line, newline, rest = self._buffer.partition(b"\n")
        if not newline:
            return None
        self._buffer = rest
        secret = self.secret.encode()
        try:
            reply = loads(line.removeprefix(secret)) if line.startswith(secret) else None
        except ValueError:
            reply = None
        if not isinstance(reply, dict):
            raise EOFError
        return reply


class Lanes:
    """The lanes of one session. Not to be used by two threads at once."""

    def __init__(self, main: socket.socket, clones: Sequence[socket.socket], patience: float) -> None:
        """`patience`: seconds after which a clone that has not answered is given up."""
        self._main = Lane(main)
        self._clones = [Lane(channel, secrets.token_hex(16)) for channel in clones]
        self._most = max(1, len(clones))
        self._patience = patience
        self.ends_at: float | None = None
        """When no answer is of use any more (`time.monotonic`)."""
        self._queue: list[Request] = []
        self._background: list[Request] = []
        self._is_gone = False

    @property
    def secrets(self) -> list[str]:
        """The clones' secrets, in the order of their channels."""
        return [lane.secret for lane in self._clones]

    @property
    def is_started(self) -> bool:
        """Whether there is anybody at the other end."""
        return True

    @property
    def width(self) -> int:
        """How many requests can be answered at a time."""
        return max(1, len(self._clones))

    def seconds_left(self) -> float | None:
        """What an answer may take, if that is limited; always a little, since less would say nothing."""
        return None if self.ends_at is None else max(LEAST_SECONDS, self.ends_at - monotonic())

    def begin(self, line: bytes, *, anywhere: bool, then: Callable[[Reply], None] | None = None) -> Request:
        """Have a request answered as soon as a lane is free; with `then`, one that nothing else wants."""
        request = Request(line, anywhere=anywhere, then=then)
        (self._queue if then is None else self._background).append(request)
        self._dispatch()
        return request

    def wait(self, request: Request) -> Reply | None:
        """The answer to a request, which comes before all that wait for a lane.

        None where nobody is there to ask, or nobody has answered when it is of no use any more.
        """
        for waiting in (self._queue, self._background):
            if request in waiting:
                waiting.remove(request)
                self._queue.insert(0, request)
        while request.reply is None and not self._is_gone and self._patience_left() > 0:
            self._dispatch()
            self._receive()
        return request.reply

    def drop(self, request: Request) -> None:
        """A request that nobody wants to know the answer of any more; whoever works on it stops."""
        request.is_dropped = True
        for waiting in (self._queue, self._background):
            if request in waiting:
                waiting.remove(request)
        for lane in (self._main, *self._clones):
            if lane.request is request:
                lane.write(CANCEL)

    def close(self) -> None:
        """Leave all that is under way unanswered."""
        self._is_gone = True
        for lane in (self._main, *self._clones):
            with contextlib.suppress(OSError):
                lane.channel.shutdown(socket.SHUT_RDWR)
            lane.channel.close()
        self._clones = []

    def _dispatch(self) -> None:
        for request in (*self._queue, *self._background):
            under_way = [lane.request for lane in (self._main, *self._clones) if lane.request is not None]
            if len(under_way) >= self._most or (request.alone and under_way) or self._runs_alone():
                return
            waiting = self._queue if request in self._queue else self._background
            # one lane is kept for what may be wanted next
            if waiting is self._background and sum(one.then is not None for one in under_way) >= self._most - 1:
                return
            lane = self._free_lane(request)
            if lane is not None:
                waiting.remove(request)
                lane.deadline = monotonic() + self._patience
                lane.send(request, self.seconds_left())

    def _patience_left(self) -> float:
        """How many seconds are waited for whatever answer."""
        return math.inf if self.ends_at is None else self.ends_at + GRACE_SECONDS - monotonic()

    def _runs_alone(self) -> bool:
        return self._main.request is not None and self._main.request.alone

    def _free_lane(self, request: Request) -> Lane | None:
        lanes = self._clones if request.anywhere and self._clones else [self._main]
        return next((lane for lane in lanes if lane.request is None), None)

    def _receive(self) -> None:
        """Wait for something to come on a lane on which a request is under way."""
        busy = {lane.channel: lane for lane in (self._main, *self._clones) if lane.request is not None}
        if not busy:
            return
        limits = [lane.deadline - monotonic() for lane in busy.values() if lane is not self._main]
        left = max(0.0, min(self._patience_left(), *limits, math.inf))
        ready, _, _ = select.select(list(busy), [], [], None if left == math.inf else left)
        for channel in ready:
            self._receive_from(busy[channel])
        for lane in busy.values():
            if lane is not self._main and lane.request is not None and lane.deadline < monotonic():
                self._lose(lane)

    def _receive_from(self, lane: Lane) -> None:
        request = lane.request
        assert request is not None
        try:
            reply = lane.receive()
        except EOFError:
            self._lose(lane)
            return
        if reply is None:
            return
        lane.request = None
        if lane is not self._main and not request.is_dropped and _is_unsure(reply):
            self._ask_again(request)
        else:
            request.reply = reply
            if request.then is not None and not request.is_dropped:
                request.then(reply)

    def _lose(self, lane: Lane) -> None:
        """A lane has nobody at its other end any more."""
        request, lane.request = lane.request, None
        if lane is self._main:
            self._is_gone = True
            return
        self._clones.remove(lane)
        lane.channel.close()
        if request is not None and not request.is_dropped:
            self._ask_again(request)

    def _ask_again(self, request: Request) -> None:
        request.anywhere, request.alone = False, True
        self._queue.insert(0, request)


def lane_count(jobs: int) -> int:
    """How many clones a session has that may keep `jobs` processes busy."""
    return min(jobs, MOST_LANES) if jobs > 1 else 0


def lane_pairs(jobs: int) -> tuple[list[socket.socket], list[socket.socket]]:
    """Channels for the clones of a session that may keep `jobs` processes busy: our ends, and theirs."""
    pairs = [socket.socketpair() for _ in range(lane_count(jobs))]
    return [here for here, _ in pairs], [there for _, there in pairs]


def _is_unsure(reply: Reply) -> bool:
    """Whether a clone's answer may be another than the keeper's: of what died beside others, or could not be loaded."""
    failure = reply.get("failure")
    if not failure or failure["kind"] == "timeout":
        return False
    return bool(reply.get("died") or reply.get("reloading"))
