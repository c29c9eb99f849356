"""One loaded entry, as the parent asks about it. Imports no torch."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from time import monotonic
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from ddelint.nouns.contracts import Contract
from ddelint.nouns.diagnostics import TIME_IS_OVER, Span
from ddelint.nouns.dispatches import Costs, Tried
from ddelint.nouns.measurements import Measured, Parity
from ddelint.nouns.protocol import (
    Attempt,
    Comparison,
    Compilation,
    Decision,
    EntryFailure,
    EntryInfo,
    GpuCode,
    Overlay,
    ProgramTexts,
    SessionOptions,
    TraceResult,
    Types,
)
from ddelint.nouns.size_specs import Declarations, SizeSpec, Trial
from ddelint.nouns.size_streams import Counted
from ddelint.nouns.timings import Timings, step_of
from ddelint.nouns.wire import to_wire
from ddelint.trace.lanes import Lanes, Request
from ddelint.trace.late_lanes import LateLanes
from ddelint.trace.messages import compiling, failed, is_for_any_lane, line_of, opening, read, result_of
from ddelint.trace.verdicts import Verdicts

T = TypeVar("T")


class Session:
    """One loaded entry. Each request runs in a fresh process; results say in `failure` why one could not."""

    _verdicts: Verdicts | None = None
    """What is known of earlier calls, and is learned in this one."""

    def __init__(
        self, lanes: Lanes | LateLanes, options: SessionOptions, timings: Timings, verdicts: Verdicts | None = None
    ) -> None:
        self.options = options
        self._verdicts = verdicts
        self._timings = timings
        self._lanes = lanes
        self.began = monotonic()
        """When the entry began to be loaded."""
        self._expected: dict[bytes, Request] = {}
        """What was begun and not asked for yet."""
        self._has_verifier = False
        self._info: EntryInfo | None = None
        self._lock = threading.Lock()

    @property
    def ends_at(self) -> float | None:
        """When the entry's time is over (`time.monotonic`): what is asked then fails; None: never."""
        return self._lanes.ends_at

    @ends_at.setter
    def ends_at(self, moment: float | None) -> None:
        self._lanes.ends_at = moment

    @property
    def is_over(self) -> bool:
        """Whether the entry's time is over."""
        return self.ends_at is not None and monotonic() >= self.ends_at

    @property
    def seconds_left(self) -> float:
        """How much of the entry's time there is."""
        return math.inf if self.ends_at is None else self.ends_at - monotonic()

    @contextmanager
    def limited(self, seconds: float) -> Iterator[None]:
        """Inside, what is asked fails once so many seconds have passed since the session began to load its entry."""
        self.ends_at = self.began + seconds
        try:
            yield
        finally:
            self.ends_at = None

    @property
    def info(self) -> EntryInfo:
        """The entry as found."""
        assert self._info is not None, "the session was not started"
        return self._info

    def start(self) -> EntryFailure | None:
        """Have the worker load the entry (Worker.open does this)."""
        return self._entered(self.load())

    def load(self) -> dict[str, Any]:
        """The answer to the session's first request: what was found in the entry's files, or by running the script."""
        return self.ask("open", opening(self.options, self._lanes))

    def _entered(self, reply: Mapping[str, Any]) -> EntryFailure | None:
        found = read(EntryInfo, reply)
        if isinstance(found, EntryFailure):
            return found
        self._info = found
        return None

    def trace(
        self,
        overlay: Overlay,
        *,
        first: bool = False,
        forward_first: bool = False,
        until: Sequence[Span] = (),
    ) -> TraceResult:
        """All questions of the program, with `overlay` in effect; `first`: only whether there are any, and one.

        With `forward_first` those of the joint graph come once the forward asks nothing. The result is `cut` where
        something is asked within a span of `until`: that is the last question then.
        """
        arguments = {"overlay": dict(overlay), "first": first, "forward_first": forward_first}
        reply = self.ask("trace", {**arguments, **({"until": to_wire(tuple(until))} if until else {})})
        return result_of(TraceResult, reply, TraceResult(questions=(), runs=0))

    def compare(
        self,
        overlay: Overlay,
        decisions: tuple[Decision, ...],
        samples: int,
        quick: bool,
        *,
        only: Collection[str] = (),
        exactly: str = "",
        watched: tuple[Decision, ...] | None = None,
        fresh: bool | None = None,
        original: Overlay | None = None,
    ) -> Comparison:
        """The original against the program under `overlay`, in eager.

        `only`: on these input sets (see `Mismatch.base`) and what is made of them, instead of on all; and of that the
        run alone that is labelled `exactly` so, where more programs are held against one run of the original. That is
        so as long as the same decisions are `watched` meanwhile (`decisions` among them; None: no others).
        `original` is the text that counts as such (None: what is on disk). `fresh` loads the rewritten files by
        importing them anew instead of swapping functions in place; by default the full comparison does and the quick
        one doesn't.
        """
        reply = self.ask(
            "compare",
            {
                "overlay": dict(overlay),
                "decisions": to_wire(decisions),
                "samples": samples,
                "quick": quick,
                "only": sorted(only),
                "exactly": exactly,
                "watched": to_wire(decisions if watched is None else watched),
                "fresh": not quick if fresh is None else fresh,
                "original": dict(original or {}),
            },
        )
        return result_of(Comparison, reply, Comparison(samples=0, declared=0, equal=False))

    def compile(
        self,
        overlay: Overlay,
        targets: tuple[str, ...],
        samples: int,
        backend: str,
        *,
        fresh: bool | None = None,
        fakes: Mapping[str, tuple[str, ...]] = MappingProxyType({}),
        original: Overlay | None = None,
    ) -> Compilation:
        """The program under `overlay` through every target, against the original in eager.

        `original` and `fresh` as in `compare`; by default the run with Inductor is fresh and others are not. `fakes`:
        operator → the body of a fake kernel that it gets for this run.
        """
        arguments = compiling(overlay, targets, samples, backend, fresh=fresh, fakes=fakes, original=original)
        return result_of(Compilation, self.ask("compile", arguments), Compilation(results=()))

    def follow(self, steps: Generator[Mapping[str, Any], Compilation, T]) -> Following[T]:
        """Have programs compiled of which each follows from what came of the one before; `steps` yields the arguments.

        Where several requests are answered at a time, that goes on while nothing else is to be done.
        """
        return Following(self, steps)

    def measure(
        self, overlay: Overlay, which: str, *, parity: bool = False, original: Overlay | None = None
    ) -> Measured:
        """Time and counts of the original (`which` is ORIGINAL) or of the program under `overlay` (FIXED).

        `parity` adds what closes the gap between unbacked and backed dimensions; `original` as in `compare`.
        """
        reply = self.ask(
            "measure",
            {
                "overlay": dict(overlay),
                "which": which,
                "parity": parity,
                "original": dict(original or {}),
                "fresh": True,
            },
        )
        return result_of(Measured, reply, Measured())

    def parity(self, overlay: Overlay, *, timed: bool, original: Overlay | None = None) -> Parity:
        """Unbacked against backed dimensions of the program under `overlay`: the code, and where `timed`, the time."""
        reply = self.ask(
            "parity", {"overlay": dict(overlay), "timed": timed, "original": dict(original or {}), "fresh": True}
        )
        return result_of(Parity, reply, Parity())

    def gpu(self, overlay: Overlay, samples: int, *, interpreted: bool, original: Overlay | None = None) -> GpuCode:
        """The code that Inductor writes for a GPU: assembled, and where `interpreted`, run on the CPU against eager."""
        reply = self.ask(
            "gpu",
            {
                "overlay": dict(overlay),
                "samples": samples,
                "interpreted": interpreted,
                "original": dict(original or {}),
                "fresh": True,
            },
        )
        return result_of(GpuCode, reply, GpuCode())

    def contract(self, overlay: Overlay) -> Contract:
        """What the program needs of the sizes of its inputs: of those dimensions that are unbacked."""
        return result_of(Contract, self.ask("contract", {"overlay": dict(overlay)}), Contract(""))

    def declared(self, wanted: str = "") -> Declarations:
        """The specs of sizes beside the entry; `wanted`: the one of that name (`NAME`, `FILE.py:NAME`)."""
        return result_of(Declarations, self.ask("declared", {"overlay": {}, "wanted": wanted}), Declarations())

    def try_spec(self, spec: SizeSpec, first: Mapping[str, int], cases: Sequence[Mapping[str, int]]) -> Trial:
        """The program compiled under a spec with inputs of sizes `first`, then called with each of `cases`."""
        arguments = {"overlay": {}, "spec": to_wire(spec), "first": dict(first), "cases": [dict(c) for c in cases]}
        return result_of(Trial, self.ask("try_spec", arguments), Trial(False))

    def try_dispatch(
        self, text: str, cases: Sequence[Mapping[str, int]], calls: Sequence[Mapping[str, int]] = ()
    ) -> Tried:
        """A dispatcher's file, as it would be written, loaded and called with inputs of each size.

        `calls`: the sizes with which each graph is saved first, where the file is about graphs of a folder.
        """
        given = {"cases": [dict(sizes) for sizes in cases], "calls": [dict(sizes) for sizes in calls]}
        arguments = {"overlay": {}, "text": text, **given}
        return result_of(Tried, self.ask("try_dispatch", arguments), Tried())

    def graph_costs(self, arms: Sequence[Mapping[str, Any]]) -> Costs:
        """The ways of compiling the program that `arms` name (see shapes.graph_costs.Arm), on the same inputs."""
        return result_of(Costs, self.ask("graph_costs", {"overlay": {}, "arms": list(arms)}), Costs())

    def count_graphs(self, stream: Sequence[Mapping[str, int]]) -> Counted:
        """The calls of a stream of sizes for which `torch.compile` makes a graph, as the program is."""
        arguments = {"overlay": {}, "stream": [dict(sizes) for sizes in stream]}
        return result_of(Counted, self.ask("count_graphs", arguments), Counted())

    def programs(self, settings: Mapping[str, Sequence[str]]) -> ProgramTexts:
        """The module classes and functions of the entry's file.

        `settings`: by what a class of settings is known (`base_names` of parameters, `class_ends` of names).
        """
        arguments = {"settings": {key: list(names) for key, names in settings.items()}}
        return result_of(ProgramTexts, self.ask("programs", arguments), ProgramTexts())

    def attempt(self, entry: str, *, block: str = "", overlay: Overlay = MappingProxyType({})) -> Attempt:
        """Run an entry once in eager: that of `ddelint_entries()` in `block`, or of the text under `overlay`.

        `block` is executed as if it stood at the end of the file, which is not loaded again; `entry` is its name.
        """
        arguments = {"entry": entry, "block": block, "overlay": dict(overlay)}
        return result_of(Attempt, self.ask("attempt", arguments), Attempt())

    def types(self, functions: Collection[str] = ()) -> Types:
        """Types seen in eager runs of the original, of `functions` (`filename::qualname`; empty: of all)."""
        return result_of(Types, self.ask("types", {"functions": sorted(functions)}), Types())

    def close(self) -> None:
        """End the session's processes, and keep what they said. Calling it twice changes nothing."""
        self._lanes.close()
        if self._verdicts is not None:
            self._verdicts.save()

    def known(self, method: str, arguments: Mapping[str, Any]) -> dict[str, Any] | None:
        """The answer to a request where an earlier call had it."""
        known = self._verdicts.known(method, line_of(method, arguments)) if self._verdicts is not None else None
        return dict(known) if known is not None else None

    def ask(self, method: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """One request as it crosses the wire: a dict with `result` or `failure`."""
        if self.is_over:
            return failed("timeout", TIME_IS_OVER)
        known = self.known(method, arguments)
        if known is not None:
            return known
        with self._lock:
            line = line_of(method, arguments)
            request = self._expected.pop(line, None) or self._begin(line, method, arguments)
        return self.wait(request, method, arguments)

    def wait(self, request: Request, method: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to a request that was begun."""
        step = step_of(method, arguments)
        if self.is_over and request.reply is None:
            self._lanes.drop(request)
            return failed("timeout", TIME_IS_OVER)
        with self._lock, self._timings.step(step):
            reply = self._lanes.wait(request)
        if request.then is None:
            self._timings.spent(step, (reply or {}).get("cpu", 0.0))
            self._learn(request, method, reply)
        if reply is None and self.is_over:
            self._lanes.drop(request)
        # where an entry hangs while it is loaded is what there is to say of it
        ran_out = reply is None or (method != "open" and reply.get("failure", {}).get("kind") == "timeout")
        if self.is_over and ran_out:
            return failed("timeout", TIME_IS_OVER)
        return reply or failed("signal", "the session's process is gone")

    def begin_behind(
        self, method: str, arguments: Mapping[str, Any], then: Callable[[Mapping[str, Any]], None]
    ) -> Request:
        """Have a request answered when nothing else is to be; `then` gets the answer as soon as it is there."""

        def answered(reply: Mapping[str, Any]) -> None:
            self._timings.spent(step_of(method, arguments), reply.get("cpu", 0.0))
            self._learn(request, method, reply)
            then(reply)

        request = self._lanes.begin(
            line_of(method, arguments), anywhere=is_for_any_lane(method, arguments), then=answered
        )
        return request

    def _learn(self, request: Request, method: str, reply: Mapping[str, Any] | None) -> None:
        if self._verdicts is not None and reply is not None:
            self._verdicts.learn(method, request.line, reply)

    @property
    def width(self) -> int:
        """How many requests are answered at a time."""
        return self._lanes.width

    @property
    def ahead(self) -> Ahead:
        """What is asked of this is begun, where a process is free for it, and has its answer when it is asked for."""
        return Ahead(self)

    def begin(self, method: str, arguments: Mapping[str, Any]) -> None:
        """Have a request that is expected answered meanwhile; nothing where one is answered at a time."""
        if not self._lanes.is_started or self.known(method, arguments) is not None:
            return
        with self._lock:
            line = line_of(method, arguments)
            if self.width > 1 and line not in self._expected:
                self._expected[line] = self._begin(line, method, arguments)

    def forget(self) -> None:
        """End what was expected, and has not been asked for."""
        with self._lock:
            for request in self._expected.values():
                self._lanes.drop(request)
            self._expected.clear()

    def expect_compiled(self) -> None:
        """That something will be compiled: what Inductor needs is loaded meanwhile."""
        if self._lanes.is_started:
            with self._lock:
                self._load_inductor()

    def _load_inductor(self) -> None:
        if not self._has_verifier and "compile" in self.options.targets:
            self._has_verifier = True
            self._lanes.begin(line_of("prepare", {}), anywhere=False)

    def _begin(self, line: bytes, method: str, arguments: Mapping[str, Any]) -> Request:
        if method == "compare" and self.width > 1:  # what passes is compiled next
            self._load_inductor()
        return self._lanes.begin(line, anywhere=is_for_any_lane(method, arguments))


class Following(Generic[T]):
    """What Session.follow gives: the end of a chain of requests."""

    def __init__(self, session: Session, steps: Generator[Mapping[str, Any], Compilation, T]) -> None:
        self._session = session
        self._steps = steps
        self._found: list[T] = []
        self._request: Request | None = None
        self._is_begun = session.width > 1
        if self._is_begun:
            self._go_on(None)

    def result(self) -> T:
        """What the steps came to. Waits for it."""
        if not self._is_begun:
            self._is_begun = True
            compilation: Compilation | None = None
            while not self._found:
                arguments = self._next(compilation)
                compilation = self._session.compile(**arguments) if arguments is not None else None
        while not self._found:
            request = self._request
            assert request is not None
            reply = self._session.wait(request, "compile", {"backend": "eager"})
            if request.reply is None:  # nobody is there any more who could have answered
                self._go_on(reply)
        return self._found[0]

    def _go_on(self, reply: Mapping[str, Any] | None) -> None:
        compilation = result_of(Compilation, reply, Compilation(results=())) if reply is not None else None
        while (arguments := self._next(compilation)) is not None:
            known = self._session.known("compile", compiling(**arguments))
            if known is None:
                self._request = self._session.begin_behind("compile", compiling(**arguments), self._go_on)
                return
            compilation = result_of(Compilation, known, Compilation(results=()))

    def _next(self, compilation: Compilation | None) -> Mapping[str, Any] | None:
        try:
            return next(self._steps) if compilation is None else self._steps.send(compilation)
        except StopIteration as end:
            self._found.append(end.value)
            return None


class Ahead(Session):
    """A session's other face: it begins what is asked of it and waits for nothing, so that its answers say nothing."""

    def __init__(self, session: Session) -> None:
        self.options = session.options
        self._session = session

    def ask(self, method: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """No answer yet."""
        self._session.begin(method, arguments)
        return failed("ahead", "has only been begun")

    def forget(self) -> None:
        """As Session.forget."""
        self._session.forget()
