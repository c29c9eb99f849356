"""What the worker's processes say to each other: requests as they come, replies within limits."""

from __future__ import annotations

import contextlib
import select
import socket
from collections.abc import Callable, Iterator, Mapping
from json import dumps, loads
from typing import Any

from ddelint.nouns.protocol import (
    EntryFailure,
    SessionOptions,
)
from ddelint.nouns.wire import to_wire
from ddelint.trace import failures
from ddelint.trace.isolation import (
    Child,
    Death,
    Limits,
    Supervisor,
)


class Incoming:
    """The lines that come on a channel, one after the other, until its other end is closed.

    `is_waiting` knows of a line that was read together with the one before it: a file object's buffer would hide it.
    """

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        self._buffer = b""

    def __iter__(self) -> Iterator[bytes]:
        while (line := self.take()) is not None:
            yield line

    def take(self) -> bytes | None:
        """The next line, without its newline; None where no more will come."""
        while b"\n" not in self._buffer:
            try:
                received = self._channel.recv(2**20)
            except OSError:
                return None
            if not received:
                return None
            self._buffer += received
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line

    @property
    def is_waiting(self) -> bool:
        """Whether there is something to take, the channel's end included."""
        return bool(self._buffer) or is_readable(self._channel)


def give_answer(supervisor: Supervisor, message: Mapping[str, Any]) -> None:
    """Tell the supervisor what came of a request."""
    supervisor.send(dumps(message).encode())


def send_message(channel: socket.socket, message: Mapping[str, Any]) -> None:
    """Write one message; a reader that is gone is nobody's loss."""
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        channel.sendall(dumps(message).encode() + b"\n")


def supervised(
    child: Child,
    options: SessionOptions,
    request: Mapping[str, Any],
    cancelled: Callable[[], bool],
    memory: int | None = None,
) -> dict[str, Any]:
    """The one reply of a child within the limits of the entry and the request; the child is gone afterwards."""
    seconds = min(options.request_seconds, request.get("seconds", options.request_seconds))
    try:
        answer = child.receive(Limits(seconds, memory or options.memory), cancelled)
    finally:
        child.kill()
    if isinstance(answer, Death):
        return {"failure": to_wire(failures.from_death(answer, options.paths, options.entry.filename)), "died": True}
    return read_reply(answer)


def read_reply(answer: bytes) -> dict[str, Any]:
    """A child's answer, read; a failure where it is none: user code may have replaced what writes it."""
    try:
        found = loads(answer)
    except ValueError:
        found = None
    if isinstance(found, dict):
        return found
    return {"failure": to_wire(EntryFailure("forged", "the entry's process gave an answer that is none of ddelint's"))}


def failed_to_reload(reply: Mapping[str, Any]) -> bool:
    """Whether loading the new text beside the old one may be what failed."""
    failure = reply.get("failure")
    if not failure or failure["kind"] in ("timeout", "memory", "cancelled"):
        return False
    return bool(reply.get("reloading") or reply.get("died"))


def is_readable(channel: socket.socket) -> bool:
    """Whether something has come on a channel, its end included."""
    return bool(select.select([channel], [], [], 0)[0])


def is_closed(channel: socket.socket) -> bool:
    """Whether the other end of a channel is gone."""
    if not is_readable(channel):
        return False
    try:
        return channel.recv(1, socket.MSG_PEEK) == b""
    except OSError:
        return True
