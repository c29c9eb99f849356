"""The process between the parent and one zygote: it runs no user code, and outlives whatever that does."""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence
from json import dumps, loads
from time import monotonic
from typing import Any

from ddelint.nouns.protocol import (
    LEAST_SECONDS,
    SLACK_SECONDS,
    SessionOptions,
    needs_inductor,
)
from ddelint.nouns.wire import from_wire, to_wire
from ddelint.trace import failures
from ddelint.trace.isolation import (
    Child,
    Death,
    Limits,
    Supervisor,
    adopt_orphans,
    kill_orphans,
)
from ddelint.trace.preloading import load_inductor
from ddelint.trace.replies import (
    Incoming,
    failed_to_reload,
    give_answer,
    is_closed,
    read_reply,
    send_message,
    supervised,
)
from ddelint.trace.requests import CAPTURE, handle, import_entry
from ddelint.trace.zygote import Zygote


class Keeper:
    """Stands between the parent and one zygote: enforces limits on it, reports its death, starts another.

    A second one, for what needs Inductor, loads that and the entry while the first one answers what is asked before.
    `lanes` lead from the parent to clones of the first zygote, past the keeper.
    """

    def __init__(self, channel: socket.socket, lanes: Sequence[socket.socket] = ()) -> None:
        self._channel = channel
        self._lanes = lanes
        self._secrets: Sequence[str] = ()
        self._requests = Incoming(channel)
        self._zygote: Child | None = None
        self._verifier: Child | None = None
        self._has_verifier = True
        self._cold = False
        self._options: SessionOptions | None = None
        self._ends_at = 0.0
        """When the answer to the present request is of no use any more (`time.monotonic`), however it is come by."""

    def serve(self) -> None:
        """Answer the parent until it closes the session."""
        adopt_orphans()
        try:
            for line in self._requests:
                request = loads(line)
                match request["method"]:
                    case "cancel":  # it came when the answer was under way
                        continue
                    case "open":
                        self._options = from_wire(SessionOptions, request["options"])
                        self._secrets = request.get("lanes", ())
                        self._limit(request)
                        reply = self._open()
                    case "prepare":
                        self._start_verifier()
                        reply = {"result": None}
                    case _:
                        self._limit(request)
                        reply = self._forward(line)
                send_message(self._channel, reply)
        finally:
            for child in (self._zygote, self._verifier):
                if child is not None:
                    child.kill()
            kill_orphans(frozenset())

    def _limit(self, request: Mapping[str, Any]) -> None:
        assert self._options is not None
        whole = self._options.request_seconds
        self._ends_at = monotonic() + min(whole, request.get("seconds", whole))

    @property
    def _left(self) -> float:
        """Seconds that the present request may still take; always a little, for whoever answers to say so."""
        return max(LEAST_SECONDS, self._ends_at - monotonic())

    def _open(self) -> dict[str, Any]:
        """Start a zygote and wait until it has the entry. The reply carries `result` (EntryInfo) or `failure`."""
        options = self._options
        assert options is not None
        cold = self._cold

        lanes, self._lanes = self._lanes, ()

        def run(supervisor: Supervisor) -> None:
            self._channel.close()
            clones = [Supervisor(lane, secret.encode()) for lane, secret in zip(lanes, self._secrets)]
            Zygote(supervisor, options, cold).serve(clones, self._ends_at)

        zygote = Child.start(run)
        self._zygote = zygote
        for lane in lanes:
            lane.close()
        reply = self._receive(Limits(self._left, options.memory))
        if reply.get("cold"):
            zygote.kill()
            self._cold = True
            return self._open()
        if "failure" not in reply:
            reply = self._receive(Limits(self._left + SLACK_SECONDS))
        if "failure" in reply and self._zygote is not None:
            self._zygote.kill()
            self._zygote = None
        return reply

    def _forward(self, line: bytes) -> dict[str, Any]:
        request = loads(line)
        if request["method"] == "compare":  # what passes is compiled next
            self._start_verifier()
        reply = self._verified(line) if needs_inductor(request["method"], request) else None
        if reply is None:
            reply = self._request(line)
        if self._is_forks_fault(reply):
            return self._cold_answer(request)
        if not failed_to_reload(reply) or not request.get("overlay"):
            return reply
        # some packages cannot be imported twice in a process: use one that has never seen the old text
        if request["method"] in ("trace", "attempt"):
            return self._cold_answer(request)
        if not request.get("fresh"):
            return reply
        # a comparison needs both: where the new text can be imported at all, it is swapped in place
        which = {name: request[name] for name in (*CAPTURE, "backed") if name in request}
        loaded = self._cold_answer({**which, "method": "open", "overlay": request["overlay"]})
        if "failure" in loaded:
            return loaded
        return self._request(dumps({**request, "fresh": False}).encode())

    def _start_verifier(self) -> None:
        options = self._options
        assert options is not None
        is_wanted = self._has_verifier and "compile" in options.targets
        if not is_wanted or self._verifier or self._zygote is None or self._cold or options.entry.script:
            return
        others = self._zygote.channel

        def run(supervisor: Supervisor) -> None:
            self._channel.close()
            others.close()
            load_inductor()
            Zygote(supervisor, options, cold=False).serve_quietly()

        self._verifier = Child.start(run)

    def _verified(self, line: bytes) -> dict[str, Any] | None:
        """The second zygote's answer; None where there is none, as the entry could not be loaded twice, say."""
        verifier, options = self._verifier, self._options
        if verifier is None:
            return None
        assert options is not None
        verifier.send(line)
        answer = verifier.receive(Limits(self._left + SLACK_SECONDS), lambda: self._is_over_for(verifier))
        if not isinstance(answer, Death):
            return read_reply(answer)
        verifier.kill()
        self._verifier, self._has_verifier = None, False
        if answer.kind != "timeout":
            return None
        return {"failure": to_wire(failures.from_death(answer, options.paths, options.entry.filename))}

    def _request(self, line: bytes) -> dict[str, Any]:
        options = self._options
        assert options is not None
        if self._zygote is None:
            opened = self._open()
            if "failure" in opened:
                return opened
        assert self._zygote is not None
        self._zygote.send(line)
        return self._receive(Limits(self._left + SLACK_SECONDS))

    def _is_forks_fault(self, reply: Mapping[str, Any]) -> bool:
        """Whether a copy of a script's process was killed: what the script has running (threads, say) isn't copied."""
        failure = reply.get("failure")
        by_signal = failure is not None and failure["kind"] == "signal" and reply.get("died", False)
        return by_signal and not self._cold and self._options is not None and self._options.entry.script is not None

    def _cold_answer(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Answer a request in a process of its own, in which nothing of the user's is imported yet."""
        options = self._options
        assert options is not None

        def run(supervisor: Supervisor) -> None:
            self._channel.close()
            failure = import_entry(options, warm=False)
            give_answer(supervisor, handle(options, request) if failure is None else {"failure": to_wire(failure)})

        left = {**request, "seconds": self._left}
        return supervised(Child.start(run), options, left, self._parent_is_gone)

    def _receive(self, limits: Limits) -> dict[str, Any]:
        zygote = self._zygote
        assert zygote is not None
        assert self._options is not None
        answer = zygote.receive(limits, lambda: self._is_over_for(zygote))
        if isinstance(answer, Death):
            self._zygote = None
            options = self._options
            return {"failure": to_wire(failures.from_death(answer, options.paths, options.entry.filename))}
        return read_reply(answer)

    def _parent_is_gone(self) -> bool:
        return is_closed(self._channel)

    def _is_over_for(self, child: Child) -> bool:
        """Whether the parent is gone. Where it only wants no answer any more, the child hears of it."""
        if is_closed(self._channel):
            return True
        line = self._requests.take() if self._requests.is_waiting else None
        if line is not None:
            child.send(line)
        return False
