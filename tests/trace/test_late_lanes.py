"""A session that begins without its processes starts them when something is asked; loading torch costs it nothing."""

from __future__ import annotations

import json
import socket

import pytest

from ddelint.nouns.protocol import EntryFailure
from ddelint.trace import lanes, late_lanes
from ddelint.trace.lanes import Lanes
from ddelint.trace.late_lanes import LateLanes

LINE = b'{"method": "trace"}\n'


def test_nothing_is_started_before_something_is_asked() -> None:
    started = []
    late = LateLanes(2, lambda: started.append(0), lambda _: started.append(1) or EntryFailure("signal", "gone"))
    late.ends_at = 5.0
    late.close()

    assert (late.width, late.ends_at, late.is_started, started) == (2, 5.0, False, [])


def test_loading_torch_takes_none_of_the_entrys_time(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [100.0]
    for module in (lanes, late_lanes):
        monkeypatch.setattr(module, "monotonic", lambda: clock[0])
    here, there = socket.socketpair()

    def load() -> None:
        clock[0] += 7.0

    def start(ends_at: float | None) -> Lanes:
        assert ends_at == 147.0
        clock[0] += 3.0
        return Lanes(here, [], 60.0)

    late = LateLanes(1, load, start)
    late.ends_at = 140.0
    request = late.begin(LINE, anywhere=False)
    sent = json.loads(there.makefile("rb").readline())
    there.sendall(b'{"result": 3}\n')

    assert sent["method"] == "trace"
    assert late.wait(request) == {"result": 3}
    assert late.ends_at == 147.0
    assert late.is_started
    late.close()
    there.close()


def test_processes_that_cannot_be_started_are_an_answer() -> None:
    heard = []
    late = LateLanes(1, lambda: None, lambda _: EntryFailure("no-torch", "no torch any more"))
    request = late.begin(LINE, anywhere=False, then=heard.append)

    reply = late.wait(request)
    assert reply is not None
    assert reply["failure"]["kind"] == "no-torch"
    assert heard == [reply]
    assert late.is_started
