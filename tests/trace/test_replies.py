"""What the worker's processes say to each other."""

from __future__ import annotations

import socket

from ddelint.trace.replies import Incoming


def test_a_line_that_came_with_another_is_waiting() -> None:
    here, there = socket.socketpair()
    with here, there:
        requests = Incoming(here)
        assert not requests.is_waiting
        there.sendall(b"compile\ncancel\n")
        assert requests.is_waiting
        assert requests.take() == b"compile"
        assert requests.is_waiting  # although the channel holds nothing any more
        assert requests.take() == b"cancel"
        assert not requests.is_waiting
        there.sendall(b"one\ntwo\nunfinished")
        there.close()
        assert list(requests) == [b"one", b"two"]
        assert requests.is_waiting  # for good: nobody is there any more
        assert requests.take() is None
