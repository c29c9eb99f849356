"""The process that holds the imported entry, and forks for each request; and the fork that has run the original."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from json import dumps, loads
from time import monotonic, process_time
from typing import Any, NoReturn

from ddelint.nouns.protocol import (
    LEAST_SECONDS,
    EntryFailure,
    SessionOptions,
    needs_inductor,
)
from ddelint.nouns.wire import to_wire
from ddelint.trace import reads
from ddelint.trace.forkable import forks_before_gradients, has_threads, is_unforkable
from ddelint.trace.isolation import (
    Child,
    Death,
    Limits,
    Supervisor,
    adopt_orphans,
    children,
    die_with_parent,
    kill_orphans,
)
from ddelint.trace.preloading import load_inductor
from ddelint.trace.replies import Incoming, give_answer, is_closed, read_reply, supervised
from ddelint.trace.requests import handle, import_entry, run_original

_LEAST_SHARE = 0.1
_UNHURRIED = {"trace": 0.5, "compile": 0.5, "compare": 0.18, "open": math.inf, "captures": math.inf}
"""What a request may take of the time that is left before it stops by itself with less than it could say."""


@dataclass(frozen=True)
class Held:
    """A process that has run the original, and the request for which it did."""

    child: Child
    request: Mapping[str, Any]

    def serves(self, request: Mapping[str, Any]) -> bool:
        """Whether another request wants the original to be run so; of a few inputs more do as well."""
        mine = self.request
        enough = mine["samples"] >= request["samples"] if request["quick"] else mine["samples"] == request["samples"]
        return enough and all(mine[name] == request[name] for name in ("original", "watched"))


class Zygote:
    """Holds the imported entry; forks for each request. `cold`: imports nothing itself, each fork does.

    `share`: how many there are, that have the memory of one request together.
    """

    def __init__(self, keeper: Supervisor, options: SessionOptions, cold: bool, share: int = 1) -> None:
        self._keeper = keeper
        self._requests = Incoming(keeper.channel)
        self._options = options
        self._cold = cold
        self._share = share
        self._memory = options.memory // share
        self._held_by: dict[bool, Held] = {}
        """Who has run the original on a few inputs (True), and on all."""
        self._holds = not cold and options.entry.script is None

    def serve(self, clones: Sequence[Supervisor], ends_at: float) -> None:
        """Import, report what was found, answer requests until the keeper closes the channel; so do the clones.

        `ends_at`: when what was found is of no use any more (`time.monotonic`).
        """
        adopt_orphans()
        if not self._cold:
            failure = import_entry(self._options)
            if failure is not None:
                give_answer(self._keeper, {"failure": to_wire(failure)})
                return
            if is_unforkable():
                give_answer(self._keeper, {"cold": True})
                return
        give_answer(self._keeper, {"imported": True})
        method = "open" if self._options.entry.script is None else "captures"
        found = self._fork({"method": method, "seconds": max(LEAST_SECONDS, ends_at - monotonic())})
        for number in range(len(clones) if "failure" not in found else 0):
            if os.fork() == 0:
                self._be_clone(clones[number], [*clones[:number], *clones[number + 1 :]])
        for clone in clones:
            clone.channel.close()
        give_answer(self._keeper, found)
        self._answer_all()

    def _be_clone(self, parent: Supervisor, others: Sequence[Supervisor]) -> NoReturn:
        """In a fork of the zygote: answer the parent itself; what it asks needs no keeper."""
        status = 1
        try:
            die_with_parent()
            adopt_orphans()
            for other in (self._keeper, *others):
                other.channel.close()
            Zygote(parent, self._options, self._cold, share=len(others) + 1)._answer_all()
            status = 0
        finally:
            os._exit(status)

    def serve_quietly(self) -> None:
        """Import, and answer requests; where it cannot be imported, end without a word."""
        adopt_orphans()
        if import_entry(self._options) is None and not is_unforkable():
            self._answer_all()

    def _answer_all(self) -> None:
        for line in self._requests:
            request = loads(line)
            if request["method"] != "cancel":  # that came when the answer was under way
                give_answer(self._keeper, self._held(request) or self._fork(request))

    def _held(self, request: dict[str, Any]) -> dict[str, Any] | None:
        """What comes of a comparison with an original that was run for others, too; None where none is held.

        For some inputs alone the original is not run on all.
        """
        if not self._holds or request["method"] != "compare" or forks_before_gradients():
            return None
        started, spent = monotonic(), 0.0
        held = self._held_by.get(request["quick"])
        if held is None or not held.serves(request):
            if request["only"]:
                return None
            self._release(request["quick"])
            child, spent = self._started(request)
            if child is None:
                return None
            held = self._held_by[request["quick"]] = Held(child, request)
        child = held.child
        child.send(dumps(request).encode())
        answer = child.receive(Limits(self._options.request_seconds), lambda: self._passed_on(child))
        if isinstance(answer, Death):
            self._release(request["quick"])
            return None
        reply = read_reply(answer)
        hurried = {"hurried": True} if _is_hurried(self._options, request, monotonic() - started) else {}
        return {**reply, "cpu": reply.get("cpu", 0.0) + spent, **hurried}

    def _started(self, request: Mapping[str, Any]) -> tuple[Child | None, float]:
        """A process that has run the original, and the CPU seconds that took; None where it could not, or not fork."""
        child = Child.start(lambda zygote: self._hold(zygote, request))
        seconds = min(self._options.request_seconds, request.get("seconds", self._options.request_seconds))
        answer = child.receive(Limits(seconds, self._memory), self._is_over)
        ready = {} if isinstance(answer, Death) else read_reply(answer)
        if "held" in ready:
            return child, ready["cpu"]
        child.kill()
        self._holds = isinstance(answer, Death) and answer.kind == "cancelled"
        return None, 0.0

    def _hold(self, zygote: Supervisor, request: Mapping[str, Any]) -> None:
        """In a fork: run the original, and answer what programs are to be held against it."""
        self._keeper.channel.close()
        Holder(zygote, self._options, self._share).hold(request)

    def _release(self, quick: bool) -> None:
        held = self._held_by.pop(quick, None)
        if held is not None:
            held.child.kill()

    def _passed_on(self, holder: Child) -> bool:
        """Whether nobody is there any more who asks; that nobody waits for the answer, the holder is told."""
        if is_closed(self._keeper.channel):
            return True
        line = self._requests.take() if self._requests.is_waiting else None
        if line is not None:
            holder.send(line)
        return False

    def _fork(self, request: dict[str, Any]) -> dict[str, Any]:
        """Answer one request in a process of its own."""
        if needs_inductor(request["method"], request):
            load_inductor()
        before, spent, started = children(), _seconds_of_children(), monotonic()
        child = Child.start(lambda zygote: self._answer(zygote, request))
        try:
            reply = supervised(child, self._options, request, self._is_over, self._memory)
        finally:
            kill_orphans(before)
        hurried = _is_hurried(self._options, request, monotonic() - started)
        return {**reply, "cpu": _seconds_of_children() - spent, **({"hurried": True} if hurried else {})}

    def _is_over(self) -> bool:
        """Whether nobody waits for the answer: whoever asked is gone, or has said so."""
        return self._requests.is_waiting

    def _answer(self, zygote: Supervisor, request: dict[str, Any]) -> None:
        owner = os.getpid()
        self._keeper.channel.close()
        failure: EntryFailure | None = None
        if self._cold:
            # one captured program needs only so much of the script
            failure = import_entry(self._options, warm="capture" not in request)
        before = self._mark()
        reply = {"failure": to_wire(failure)} if failure is not None else self._handled(request)
        if os.getpid() == owner:
            give_answer(zygote, {**reply, **_read(request, before)})

    def _mark(self) -> Mapping[str, Any]:
        """What had been read before a request."""
        return reads.mark()

    def _handled(self, request: Mapping[str, Any]) -> dict[str, Any]:
        return handle(self._options, request)


class Holder(Zygote):
    """A fork of the zygote in which the original was run: each of its forks holds a program against that."""

    def __init__(self, zygote: Supervisor, options: SessionOptions, share: int) -> None:
        super().__init__(zygote, options, cold=False, share=share)
        self._holds = False
        self._originals: Any = None
        self._read_before = reads.mark()

    def hold(self, request: Mapping[str, Any]) -> None:
        """Run the original as a request wants it, say whether that went well, and answer."""
        adopt_orphans()
        self._originals = run_original(self._options, request)
        if is_unforkable() or has_threads():
            return
        give_answer(self._keeper, {"held": True, "cpu": process_time() + _seconds_of_children()})
        self._answer_all()

    def _mark(self) -> Mapping[str, Any]:
        return self._read_before

    def _handled(self, request: Mapping[str, Any]) -> dict[str, Any]:
        return handle(self._options, request, self._originals)


def answered_by_fork(
    options: SessionOptions, request: Mapping[str, Any], prepare: Callable[[], None]
) -> dict[str, Any]:
    """One request, answered by a fork of this process, which holds the program (see trace.live)."""

    def run(supervisor: Supervisor) -> None:
        prepare()
        give_answer(supervisor, handle(options, request))

    return supervised(Child.start(run), options, request, lambda: False)


def _is_hurried(options: SessionOptions, request: Mapping[str, Any], took: float) -> bool:
    """Whether an answer might have been a fuller one, had there been all of the entry's time."""
    seconds: float = request.get("seconds", options.timeout)
    return seconds < options.timeout and took > seconds * _UNHURRIED.get(request["method"], _LEAST_SHARE)


def _read(request: Mapping[str, Any], before: Mapping[str, Any]) -> dict[str, Any]:
    """What a request read; of what is compiled only the compiler's files are news: the program was run before."""
    if request["method"] == "open":
        return {"reads": reads.found()}
    found = reads.news(before) if request["method"] != "compile" else {}
    return {"reads": found} if any(found.values()) else {}


def _seconds_of_children() -> float:
    """CPU seconds of the children that have ended, and of theirs."""
    spent = os.times()
    return spent.children_user + spent.children_system
