"""The parent's side of the worker: start it, open an entry, ask. Imports no torch."""

from __future__ import annotations

import contextlib
import json
import math
import os
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from time import monotonic
from types import MappingProxyType, TracebackType
from typing import IO, Any, Generic, Self, TypeVar

from ddelint.nouns.contracts import Contract
from ddelint.nouns.dispatches import Costs, Tried
from ddelint.nouns.measurements import Measured, Parity
from ddelint.nouns.protocol import (
    SLACK_SECONDS,
    TIME_IS_OVER,
    Attempt,
    CaptureInfo,
    Comparison,
    Compilation,
    Decision,
    EntryFailure,
    EntryInfo,
    GpuCode,
    Overlay,
    ProgramTexts,
    SavedInputs,
    ScriptRun,
    SessionOptions,
    TraceResult,
    Types,
    needs_inductor,
)
from ddelint.nouns.size_specs import Declarations, SizeSpec, Trial
from ddelint.nouns.size_streams import Counted
from ddelint.nouns.timings import IMPORTING, Timings, step_of
from ddelint.nouns.wire import from_wire, to_wire
from ddelint.trace import lasting
from ddelint.trace.lanes import Lanes, Request, lane_count, lane_pairs
from ddelint.trace.late_lanes import LateLanes
from ddelint.trace.verdicts import Verdicts

T = TypeVar("T")

_BOOTSTRAP = """\
import sys
if sys.version_info < (3, 11):
    import json, os
    text = "%s is Python %d.%d; tracing needs 3.11 or newer" % ((sys.executable,) + sys.version_info[:2])
    failure = {"kind": "no-torch", "message": text, "span": None, "traceback": ""}
    if sys.argv[4] == "lasting":
        sys.exit(text)
    os.write(int(sys.argv[1]), json.dumps({"failure": failure}).encode() + b"\\n")
else:
    from importlib.machinery import PathFinder

    class ThisDdelint:
        @staticmethod
        def find_spec(name, path=None, target=None):
            return PathFinder.find_spec(name, [sys.argv[2]]) if name == "ddelint" else None

    import os

    if sys.argv[3] == "unsafe":
        os.environ.pop("PYTHONSAFEPATH", None)
    sys.meta_path.insert(0, ThisDdelint)
    sys.path[:] = [entry for entry in sys.path if entry]
    if sys.argv[4] == "lasting":
        from ddelint.trace.serving import serve
        serve(int(sys.argv[1]))
    else:
        from ddelint.trace.worker import main
        main(int(sys.argv[1]))
"""
"""Run by the chosen interpreter: makes this ddelint importable there, nothing that lies beside it, and starts the
template."""

_ENVIRONMENT = {
    # one thread each: forks of a process with threads are not safe, and entries run side by side
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "TORCHINDUCTOR_COMPILE_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
    # `torch.cuda.is_available()` in a user's file must not make a CUDA context before the fork
    "PYTORCH_NVML_BASED_CUDA_CHECK": "1",
    "OBJC_DISABLE_INITIALIZE_FORK_SAFETY": "YES",
}
_CLOSING_SECONDS = 5.0
_outliving: list[subprocess.Popen[bytes]] = []
"""Templates that this process has started and does not wait for."""


class Worker:
    """One interpreter with torch loaded. Starts at once; `open` waits until it is ready. A context manager."""

    def __init__(self, python: str | None = None, *, at_once: bool = True, lasts: bool = False) -> None:
        """Start the worker under the interpreter `python` (default: this one). Never raises: `open` reports.

        `at_once`: False where it may turn out that nothing needs it; the first that does starts it. `lasts`: it may
        be one that an earlier call has started, and stays for later ones (see `lasting`).
        """
        self._lasts = lasts
        self.timings = Timings()
        self._python = python or sys.executable
        self._lock = threading.Lock()
        self._hello: dict[str, Any] | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._channel: socket.socket | None = None
        self._sessions: list[Session] = []
        self._is_started = False
        self._errors: IO[bytes] | None = None
        """What the process prints of its own failure."""
        if at_once:
            self.begin()

    def begin(self) -> None:
        """Start the process, where it was not started yet. Never raises: `open` reports."""
        if self._is_started:
            return
        self._is_started = True
        if not hasattr(os, "fork"):
            self._hello = _failed("no-torch", "tracing needs a system with fork (Linux or macOS); use --static here")
            return
        self._errors = tempfile.TemporaryFile(prefix="ddelint-")  # noqa: SIM115
        address = lasting.address(self._python) if self._lasts else None
        if address is not None and self._join(address):
            return
        here, there = socket.socketpair()
        self._process = self._started(there, "once")
        there.close()
        self._talk_over(here)

    def _join(self, address: Path) -> bool:
        """Connect to the template that lasts, started now where there is none. False where there can be none."""
        channel = lasting.connected(address)
        if channel is not None:
            line = self._greeted(channel)
            if line and "stale" not in (hello := json.loads(line)):
                self._hello = hello
                return True
            channel.close()
        listener = lasting.listening(address)
        if listener is not None:
            with listener:
                started = self._started(listener, "lasting")
            if started is None:
                return True  # what cannot be started has said so
            _outliving.append(started)
        channel = lasting.connected(address)
        if channel is None:
            return False
        channel.sendall(lasting.GREETING)
        self._talk_over(channel)
        return True

    def _greeted(self, channel: socket.socket) -> bytes:
        """What a template says that is there already; nothing where it has just ended."""
        self._talk_over(channel)
        with contextlib.suppress(OSError):
            channel.sendall(lasting.GREETING)
            return self._reader.readline()
        return b""

    def _talk_over(self, channel: socket.socket) -> None:
        self._channel = channel
        self._reader = channel.makefile("rb")

    def _started(self, theirs: socket.socket, mode: str) -> subprocess.Popen[bytes] | None:
        """A template at the other end of a channel (`once`), or one that listens there (`lasting`)."""
        package_parent = str(Path(__file__).resolve().parents[2])
        users_safety = "safe" if os.environ.get("PYTHONSAFEPATH") else "unsafe"
        try:
            return subprocess.Popen(
                [self._python, "-c", _BOOTSTRAP, str(theirs.fileno()), package_parent, users_safety, mode],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._errors,
                pass_fds=(theirs.fileno(),),
                # a `typing.py` in the working directory must not stand in the way of the standard library's
                env={**os.environ, **_ENVIRONMENT, "PYTHONSAFEPATH": "1"},
                start_new_session=True,
            )
        except OSError as error:
            self._hello = _failed("no-torch", f"{self._python} cannot be started: {error.strerror or error}")
            return None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def failure(self) -> EntryFailure | None:
        """Why this worker can run nothing at all, or None. Waits until torch is loaded."""
        hello = self._ready()
        return from_wire(EntryFailure, hello["failure"]) if "failure" in hello else None

    @property
    def torch_version(self) -> str:
        """The version of the worker's torch (empty where there is none). Waits until torch is loaded."""
        return str(self._ready().get("torch", ""))

    def open(self, options: SessionOptions, verdicts: Verdicts | None = None) -> Session | EntryFailure:
        """Load an entry and run it once in eager. The failure says why there is no session (DDE002).

        What is known by `verdicts` is not asked; where that is all, nothing is loaded.
        """
        if verdicts is not None and verdicts.holds_entry:
            late = LateLanes(lane_count(options.jobs) or 1, lambda: self._late(options, verdicts))
            session: Session | EntryFailure = Session(late, options, self.timings, verdicts)
        elif self.failure is not None:
            return self.failure
        else:
            session = self._session(options, verdicts)
        if isinstance(session, EntryFailure):
            return session
        self._sessions.append(session)  # whoever interrupts the next line closes it, too
        opened = session.start()
        if opened is not None:
            session.close()
            return opened
        return session

    def run_script(self, options: SessionOptions) -> CapturedScript | EntryFailure:
        """Run `options.entry.script` and keep what it captures. The failure says why it could not run at all."""
        if self.failure is not None:
            return self.failure
        session = self._session(options)
        if isinstance(session, EntryFailure):
            return session
        self._sessions.append(session)
        ran = _read(ScriptRun, session.load())
        if isinstance(ran, EntryFailure):
            session.close()
            return ran
        return CapturedScript(session, ran)

    def close(self) -> None:
        """End the worker and every session. Calling it twice changes nothing."""
        for session in self._sessions:
            session.close()
        self._sessions.clear()
        process, self._process = self._process, None
        if self._channel is not None:
            self._reader.close()
            self._channel.close()
            self._channel = None
        if process is not None:
            try:
                process.wait(_CLOSING_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        if self._errors is not None:
            self._errors.close()

    def _session(self, options: SessionOptions, verdicts: Verdicts | None = None) -> Session | EntryFailure:
        """A session that has not been started."""
        lanes = self._lanes(options)
        return lanes if isinstance(lanes, EntryFailure) else Session(lanes, options, self.timings, verdicts)

    def _late(self, options: SessionOptions, verdicts: Verdicts) -> Lanes | EntryFailure:
        """Lanes to processes that hold the entry, for a session that began without."""
        if self.failure is not None:
            return self.failure
        lanes = self._lanes(options)
        if isinstance(lanes, EntryFailure):
            return lanes
        line = _line("open", _opening(options, lanes))
        with self.timings.step(step_of("open", {})):
            reply = lanes.wait(lanes.begin(line, anywhere=False)) or _failed("signal", "the session's process is gone")
        known = verdicts.known("open", line)
        if known is not None and "failure" not in reply and reply["result"] != known.get("result"):
            verdicts.forget()  # an entry that is another one each time
        verdicts.learn("open", line, reply)
        if "failure" in reply:
            lanes.close()
            return from_wire(EntryFailure, reply["failure"])
        return lanes

    def _lanes(self, options: SessionOptions) -> Lanes | EntryFailure:
        assert self._channel is not None
        here, there = socket.socketpair()
        ours, theirs = lane_pairs(options.jobs)
        try:
            folder = os.open(".", getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY)
            try:
                with self._lock:
                    descriptors = [folder, *(channel.fileno() for channel in (there, *theirs))]
                    socket.send_fds(self._channel, [b"o"], descriptors)
            finally:
                os.close(folder)
        except OSError:
            for channel in (here, *ours):
                channel.close()
            return EntryFailure("signal", f"the worker died{self._last_words()}")
        finally:
            for channel in (there, *theirs):
                channel.close()
        return Lanes(here, ours, options.request_seconds + SLACK_SECONDS)

    def _ready(self) -> dict[str, Any]:
        self.begin()
        with self._lock:
            if self._hello is None:
                with self.timings.step(IMPORTING):
                    line = self._reader.readline()
                if line:
                    self._hello = json.loads(line)
                else:
                    self._hello = _failed("no-torch", f"{self._python} could not start the worker{self._last_words()}")
            return self._hello

    def _last_words(self) -> str:
        if self._errors is None:
            return ""
        with contextlib.suppress(OSError, ValueError):
            self._errors.seek(0)
            lines = self._errors.read().decode(errors="replace").strip().splitlines()
            if lines:
                return f": {lines[-1]}"
        return ""


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
        return self.ask("open", _opening(self.options, self._lanes))

    def _entered(self, reply: Mapping[str, Any]) -> EntryFailure | None:
        found = _read(EntryInfo, reply)
        if isinstance(found, EntryFailure):
            return found
        self._info = found
        return None

    def trace(self, overlay: Overlay, *, first: bool = False) -> TraceResult:
        """All questions of the program, with `overlay` in effect; `first`: only whether there are any, and one."""
        reply = self.ask("trace", {"overlay": dict(overlay), "first": first})
        return _result(TraceResult, reply, TraceResult(questions=(), runs=0))

    def compare(
        self,
        overlay: Overlay,
        decisions: tuple[Decision, ...],
        samples: int,
        quick: bool,
        *,
        only: Collection[str] = (),
        fresh: bool | None = None,
        original: Overlay | None = None,
    ) -> Comparison:
        """The original against the program under `overlay`, in eager.

        `only`: on these input sets (see `Mismatch.base`) and what is made of them, instead of on all.
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
                "fresh": not quick if fresh is None else fresh,
                "original": dict(original or {}),
            },
        )
        return _result(Comparison, reply, Comparison(samples=0, declared=0, equal=False))

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
        arguments = _compiling(overlay, targets, samples, backend, fresh=fresh, fakes=fakes, original=original)
        return _result(Compilation, self.ask("compile", arguments), Compilation(results=()))

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
        return _result(Measured, reply, Measured())

    def parity(self, overlay: Overlay, *, timed: bool, original: Overlay | None = None) -> Parity:
        """Unbacked against backed dimensions of the program under `overlay`: the code, and where `timed`, the time."""
        reply = self.ask(
            "parity", {"overlay": dict(overlay), "timed": timed, "original": dict(original or {}), "fresh": True}
        )
        return _result(Parity, reply, Parity())

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
        return _result(GpuCode, reply, GpuCode())

    def contract(self, overlay: Overlay) -> Contract:
        """What the program needs of the sizes of its inputs: of those dimensions that are unbacked."""
        return _result(Contract, self.ask("contract", {"overlay": dict(overlay)}), Contract(""))

    def declared(self, wanted: str = "") -> Declarations:
        """The specs of sizes beside the entry; `wanted`: the one of that name (`NAME`, `FILE.py:NAME`)."""
        return _result(Declarations, self.ask("declared", {"overlay": {}, "wanted": wanted}), Declarations())

    def try_spec(self, spec: SizeSpec, first: Mapping[str, int], cases: Sequence[Mapping[str, int]]) -> Trial:
        """The program compiled under a spec with inputs of sizes `first`, then called with each of `cases`."""
        arguments = {"overlay": {}, "spec": to_wire(spec), "first": dict(first), "cases": [dict(c) for c in cases]}
        return _result(Trial, self.ask("try_spec", arguments), Trial(False))

    def try_dispatch(
        self, text: str, cases: Sequence[Mapping[str, int]], calls: Sequence[Mapping[str, int]] = ()
    ) -> Tried:
        """A dispatcher's file, as it would be written, loaded and called with inputs of each size.

        `calls`: the sizes with which each graph is saved first, where the file is about graphs of a folder.
        """
        given = {"cases": [dict(sizes) for sizes in cases], "calls": [dict(sizes) for sizes in calls]}
        arguments = {"overlay": {}, "text": text, **given}
        return _result(Tried, self.ask("try_dispatch", arguments), Tried())

    def graph_costs(self, arms: Sequence[Mapping[str, Any]]) -> Costs:
        """The ways of compiling the program that `arms` name (see shapes.graph_costs.Arm), on the same inputs."""
        return _result(Costs, self.ask("graph_costs", {"overlay": {}, "arms": list(arms)}), Costs())

    def count_graphs(self, stream: Sequence[Mapping[str, int]]) -> Counted:
        """The calls of a stream of sizes for which `torch.compile` makes a graph, as the program is."""
        arguments = {"overlay": {}, "stream": [dict(sizes) for sizes in stream]}
        return _result(Counted, self.ask("count_graphs", arguments), Counted())

    def programs(self, settings: Mapping[str, Sequence[str]]) -> ProgramTexts:
        """The module classes and functions of the entry's file.

        `settings`: by what a class of settings is known (`base_names` of parameters, `class_ends` of names).
        """
        arguments = {"settings": {key: list(names) for key, names in settings.items()}}
        return _result(ProgramTexts, self.ask("programs", arguments), ProgramTexts())

    def attempt(self, entry: str, *, block: str = "", overlay: Overlay = MappingProxyType({})) -> Attempt:
        """Run an entry once in eager: that of `ddelint_entries()` in `block`, or of the text under `overlay`.

        `block` is executed as if it stood at the end of the file, which is not loaded again; `entry` is its name.
        """
        arguments = {"entry": entry, "block": block, "overlay": dict(overlay)}
        return _result(Attempt, self.ask("attempt", arguments), Attempt())

    def types(self, functions: Collection[str] = ()) -> Types:
        """Types seen in eager runs of the original, of `functions` (`filename::qualname`; empty: of all)."""
        return _result(Types, self.ask("types", {"functions": sorted(functions)}), Types())

    def close(self) -> None:
        """End the session's processes, and keep what they said. Calling it twice changes nothing."""
        self._lanes.close()
        if self._verdicts is not None:
            self._verdicts.save()

    def known(self, method: str, arguments: Mapping[str, Any]) -> dict[str, Any] | None:
        """The answer to a request where an earlier call had it."""
        known = self._verdicts.known(method, _line(method, arguments)) if self._verdicts is not None else None
        return dict(known) if known is not None else None

    def ask(self, method: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """One request as it crosses the wire: a dict with `result` or `failure`."""
        if self.is_over:
            return _failed("timeout", TIME_IS_OVER)
        known = self.known(method, arguments)
        if known is not None:
            return known
        with self._lock:
            line = _line(method, arguments)
            request = self._expected.pop(line, None) or self._begin(line, method, arguments)
        return self.wait(request, method, arguments)

    def wait(self, request: Request, method: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to a request that was begun."""
        step = step_of(method, arguments)
        if self.is_over and request.reply is None:
            self._lanes.drop(request)
            return _failed("timeout", TIME_IS_OVER)
        with self._lock, self._timings.step(step):
            reply = self._lanes.wait(request)
        if request.then is None:
            self._timings.spent(step, (reply or {}).get("cpu", 0.0))
            self._learn(request, method, reply)
        if reply and self.is_over and reply.get("failure", {}).get("kind") == "timeout":
            return _failed("timeout", TIME_IS_OVER)
        return reply or _failed("signal", "the session's process is gone")

    def begin_behind(
        self, method: str, arguments: Mapping[str, Any], then: Callable[[Mapping[str, Any]], None]
    ) -> Request:
        """Have a request answered when nothing else is to be; `then` gets the answer as soon as it is there."""

        def answered(reply: Mapping[str, Any]) -> None:
            self._timings.spent(step_of(method, arguments), reply.get("cpu", 0.0))
            self._learn(request, method, reply)
            then(reply)

        request = self._lanes.begin(
            _line(method, arguments), anywhere=_is_for_any_lane(method, arguments), then=answered
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
            line = _line(method, arguments)
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
            self._lanes.begin(_line("prepare", {}), anywhere=False)

    def _begin(self, line: bytes, method: str, arguments: Mapping[str, Any]) -> Request:
        if method == "compare" and self.width > 1:  # what passes is compiled next
            self._load_inductor()
        return self._lanes.begin(line, anywhere=_is_for_any_lane(method, arguments))


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
        compilation = _result(Compilation, reply, Compilation(results=())) if reply is not None else None
        while (arguments := self._next(compilation)) is not None:
            known = self._session.known("compile", _compiling(**arguments))
            if known is None:
                self._request = self._session.begin_behind("compile", _compiling(**arguments), self._go_on)
                return
            compilation = _result(Compilation, known, Compilation(results=()))

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
        return _failed("ahead", "has only been begun")

    def forget(self) -> None:
        """As Session.forget."""
        self._session.forget()


class CapturedScript:
    """A script that was run: a session for each program that it captured, all served by the process that ran it."""

    def __init__(self, session: Session, run: ScriptRun) -> None:
        self.run = run
        self._session = session

    def open(self, number: int, *, backed: bool = False) -> Session | EntryFailure:
        """The captured program as a session; run once in eager, as Worker.open does. `backed`: see SessionOptions."""
        capture = self.run.captures[number]
        session = CaptureSession(self._session, number, capture, backed)
        failure = session.start()
        return session if failure is None else failure

    def save(self, filename: str) -> SavedInputs:
        """Write the captured arguments of all programs to a file (see trace.saved)."""
        return _result(SavedInputs, self._session.ask("save", {"filename": filename}), SavedInputs())

    def close(self) -> None:
        """End the script's processes."""
        self._session.close()


class CaptureSession(Session):
    """One captured program; closing it leaves the others open."""

    def __init__(self, script: Session, number: int, capture: CaptureInfo, backed: bool) -> None:
        spec = replace(script.options.entry, filename=capture.filename, capture=number, calls=capture.calls)
        self.options = replace(script.options, entry=spec, backed=backed)
        self._script = script
        self._info = None
        self.began = monotonic()

    @property
    def ends_at(self) -> float | None:
        return self._script.ends_at

    @ends_at.setter
    def ends_at(self, moment: float | None) -> None:
        self._script.ends_at = moment

    def start(self) -> EntryFailure | None:
        """Run the program once in eager; gives why that failed."""
        return self._entered(self.ask("enter", {}))

    def ask(self, method: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        return self._script.ask(method, {**arguments, **self._which()})

    @property
    def width(self) -> int:
        return self._script.width

    def begin(self, method: str, arguments: Mapping[str, Any]) -> None:
        self._script.begin(method, {**arguments, **self._which()})

    def wait(self, request: Request, method: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        return self._script.wait(request, method, arguments)

    def begin_behind(
        self, method: str, arguments: Mapping[str, Any], then: Callable[[Mapping[str, Any]], None]
    ) -> Request:
        return self._script.begin_behind(method, {**arguments, **self._which()}, then)

    def forget(self) -> None:
        self._script.forget()

    def expect_compiled(self) -> None:
        """Nothing: the process that ran the script compiles, too."""

    def _which(self) -> dict[str, Any]:
        spec = self.options.entry
        numbers = {"capture": spec.capture, "calls": spec.calls, "filename": spec.filename}
        return {**numbers, "backed": self.options.backed}

    def close(self) -> None:
        pass


def _compiling(
    overlay: Overlay,
    targets: tuple[str, ...],
    samples: int,
    backend: str,
    *,
    fresh: bool | None = None,
    fakes: Mapping[str, tuple[str, ...]] = MappingProxyType({}),
    original: Overlay | None = None,
) -> dict[str, Any]:
    """The arguments of a request, as Session.compile says."""
    return {
        "overlay": dict(overlay),
        "targets": list(targets),
        "samples": samples,
        "backend": backend,
        "fresh": backend == "inductor" if fresh is None else fresh,
        "fakes": {operator: list(body) for operator, body in fakes.items()},
        "original": dict(original or {}),
    }


def _opening(options: SessionOptions, lanes: Lanes | LateLanes) -> dict[str, Any]:
    """The arguments of a session's first request."""
    return {"options": to_wire(options), "lanes": lanes.secrets}


def _line(method: str, arguments: Mapping[str, Any]) -> bytes:
    return json.dumps({"method": method, **arguments}).encode() + b"\n"


def _is_for_any_lane(method: str, arguments: Mapping[str, Any]) -> bool:
    """Whether a clone of the zygote may answer, which has no Inductor."""
    return method in ("trace", "compare") or (method == "compile" and not needs_inductor(method, arguments))


def _result(kind: type[T], reply: Mapping[str, Any], empty: T) -> T:
    found = _read(kind, reply)
    return replace(empty, failure=found) if isinstance(found, EntryFailure) else found  # type: ignore[type-var]


def _read(kind: type[T], reply: Mapping[str, Any]) -> T | EntryFailure:
    """What a reply holds; a failure where it is none of ddelint's: user code runs in the process that it comes from."""
    try:
        if "failure" in reply:
            return from_wire(EntryFailure, reply["failure"])
        return from_wire(kind, reply["result"])
    except (AttributeError, KeyError, TypeError, ValueError):
        return EntryFailure("forged", "the entry's process gave an answer that is none of ddelint's")


def _failed(kind: str, message: str) -> dict[str, Any]:
    return {"failure": to_wire(EntryFailure(kind, message))}
