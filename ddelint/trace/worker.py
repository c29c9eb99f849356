"""The worker's processes: a template with torch loaded, a keeper for each session, a zygote that holds the entry.

    parent ──► template ──fork──► keeper ──fork──► zygote ──fork──► one process for each request

The template and the keepers never run user code, so they outlive whatever it does. The zygote imports the entry's
files once and forks for each request; what a request does to its process dies with it. Messages are JSON lines on
socket pairs of their own; user code has no way to our stdout.
"""

from __future__ import annotations

import gc
import os
import signal
import socket
import sys
from collections.abc import Sequence
from time import monotonic, sleep

from ddelint.nouns.wire import to_wire
from ddelint.trace.isolation import (
    POLL_SECONDS,
    children,
    die_with_parent,
    settle_threads,
)
from ddelint.trace.keeper import Keeper
from ddelint.trace.lanes import MOST_LANES
from ddelint.trace.preloading import load_inductor, preload
from ddelint.trace.replies import send_message

CLOSING_SECONDS = 3.0
"""What keepers have to end their sessions' processes when the parent is gone."""
MOST_DESCRIPTORS = 2 + MOST_LANES
"""File descriptors that come with a new session: a working directory, a channel, its lanes."""


def main(descriptor: int) -> None:
    """The template: load torch, say so, then fork a keeper for each session that the parent opens."""
    channel = socket.socket(fileno=descriptor)
    failure = preload()
    if failure is not None:
        send_message(channel, {"failure": to_wire(failure)})
        return
    import torch

    send_message(channel, {"torch": str(torch.__version__), "python": sys.version.split()[0]})
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    sessions = 0
    while True:
        _, descriptors, _, _ = socket.recv_fds(channel, 1, MOST_DESCRIPTORS)
        if not descriptors:
            _await_keepers()
            return
        sessions += 1
        if sessions == 2:
            # with one entry its own processes load this when they need it; for more of them once is enough
            load_inductor()
            gc.freeze()
        fork_keeper(descriptors, (channel,))


def fork_keeper(descriptors: Sequence[int], others: Sequence[socket.socket]) -> None:
    """Fork a keeper for a session; `descriptors`: the caller's working directory, the session's channel, its lanes'.

    `others` are the template's own channels, which a keeper has no use for. The descriptors are closed.
    """
    if os.fork() == 0:
        status = 1
        try:
            for other in others:
                other.close()
            die_with_parent()
            settle_threads()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            folder, *channels = descriptors
            os.fchdir(folder)
            os.close(folder)
            if "PWD" in os.environ:
                os.environ["PWD"] = os.getcwd()
            session, *lanes = [socket.socket(fileno=channel) for channel in channels]
            Keeper(session, lanes).serve()
            status = 0
        finally:
            os._exit(status)
    for descriptor in descriptors:
        os.close(descriptor)


def _await_keepers() -> None:
    """Wait until the keepers have ended what their sessions started: they die with this process."""
    deadline = monotonic() + CLOSING_SECONDS
    while children() and monotonic() < deadline:
        sleep(POLL_SECONDS)
