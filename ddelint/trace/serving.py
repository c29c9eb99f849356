"""A template that outlives the call, from its own side: it serves one caller after the other, and side by side."""

from __future__ import annotations

import contextlib
import gc
import os
import selectors
import signal
import socket
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from json import dumps
from pathlib import Path

from ddelint.nouns.wire import to_wire
from ddelint.trace.isolation import children
from ddelint.trace.lasting import GREETING, STOP, release
from ddelint.trace.preloading import load_inductor, preload
from ddelint.trace.versions import stamp
from ddelint.trace.worker import MOST_DESCRIPTORS, fork_keeper

IDLE_SECONDS = 600.0
"""How long it waits for another caller."""
_BREATH_SECONDS = 3.0
"""How long nobody calls before it uses the time to load what the next one will need."""


def serve(descriptor: int) -> None:
    """Load torch, then answer whoever connects to the listening socket `descriptor`. Ends when nobody does for long.

    What was loaded must be what a new process would load: where a folder of installed packages has changed since, a
    caller is told so and starts another template.
    """
    os.chdir("/")
    listener = socket.socket(fileno=descriptor)
    path = Path(os.fsdecode(listener.getsockname()))
    inode = os.stat(path).st_ino
    failure = preload()
    if failure is not None:
        channel, _ = listener.accept()
        release(path, inode)
        with channel:
            channel.sendall(_line({"failure": to_wire(failure)}))
        return
    import torch

    hello = {"torch": str(torch.__version__), "python": sys.version.split()[0]}
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    _Server(listener, partial(release, path, inode), hello).run()


class _Server:
    """Callers, each with a channel on which it opens sessions."""

    def __init__(self, listener: socket.socket, release: Callable[[], None], hello: Mapping[str, object]) -> None:
        """`release` takes the socket's name away."""
        self._listener = listener
        self._release = release
        self._hello = hello
        self._folders = list(sys.path)  # what is loaded later may add to it
        self._loaded = _stamps(self._folders)
        self._has_inductor = False
        self._is_ending = False
        self._selector = selectors.DefaultSelector()
        self._selector.register(listener, selectors.EVENT_READ)
        self._callers: list[socket.socket] = []

    def run(self) -> None:
        """Until nobody has called for long, or somebody has said that it is enough."""
        while not (self._is_ending and not self._is_busy):
            is_idle = self._has_inductor and not self._is_ending and not self._is_busy
            ready = self._selector.select(IDLE_SECONDS if is_idle else _BREATH_SECONDS)
            for key, _ in ready:
                if key.fileobj is self._listener:
                    self._admit()
                else:
                    self._hear(key.fileobj)  # type: ignore[arg-type]
            if ready or self._is_busy:
                continue
            if is_idle:
                self._end()
            elif not self._has_inductor:
                self._has_inductor = True
                load_inductor()
                gc.freeze()

    @property
    def _is_busy(self) -> bool:
        return bool(self._callers or children())

    def _admit(self) -> None:
        channel, _ = self._listener.accept()
        self._callers.append(channel)
        self._selector.register(channel, selectors.EVENT_READ)

    def _hear(self, channel: socket.socket) -> None:
        """A caller wants to know what is loaded, opens a session, wants the template to end, or is gone."""
        try:
            said, descriptors, _, _ = socket.recv_fds(channel, 1, MOST_DESCRIPTORS)
        except OSError:
            said, descriptors = b"", []
        if descriptors:
            fork_keeper(descriptors, (self._listener, *self._callers))
            return
        if said == GREETING:
            self._welcome(channel)
        elif said == STOP:
            self._end()
        elif not said:
            self._selector.unregister(channel)
            self._callers.remove(channel)
            channel.close()

    def _welcome(self, channel: socket.socket) -> None:
        is_stale = _stamps(self._folders) != self._loaded
        if is_stale:
            self._end()
        with contextlib.suppress(OSError):  # it is gone already
            channel.sendall(_line({"stale": True} if is_stale else self._hello))

    def _end(self) -> None:
        """Serve nobody new."""
        if not self._is_ending:
            self._is_ending = True
            self._release()
            self._selector.unregister(self._listener)
            self._listener.close()


def _line(answer: Mapping[str, object]) -> bytes:
    return dumps(answer).encode() + b"\n"


def _stamps(folders: Sequence[str]) -> dict[str, str]:
    """The folders that packages are installed in, with what changes when one is."""
    found = {}
    for folder in folders:
        try:
            found[folder] = stamp(folder)
        except OSError:
            found[folder] = ""
    return found
