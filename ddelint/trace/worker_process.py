"""The worker as its parent sees it: started once, asked for sessions. Imports no torch."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from ddelint.nouns.protocol import (
    SLACK_SECONDS,
    EntryFailure,
    ScriptRun,
    SessionOptions,
)
from ddelint.nouns.timings import IMPORTING, Timings, step_of
from ddelint.nouns.wire import from_wire
from ddelint.trace import lasting
from ddelint.trace.captured_sessions import CapturedScript
from ddelint.trace.lanes import Lanes, lane_count, lane_pairs
from ddelint.trace.late_lanes import LateLanes
from ddelint.trace.messages import failed, line_of, opening, read
from ddelint.trace.session import Session
from ddelint.trace.verdicts import Verdicts

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
    # the order of a set of names, in a program or in ddelint, is the same in each run
    "PYTHONHASHSEED": "0",
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
            self._hello = failed("no-torch", "tracing needs a system with fork (Linux or macOS); use --static here")
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
            self._hello = failed("no-torch", f"{self._python} cannot be started: {error.strerror or error}")
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
            late = LateLanes(lane_count(options.jobs) or 1, self._ready, partial(self._late, options, verdicts))
            session: Session | EntryFailure = Session(late, options, self.timings, verdicts)
        elif self.failure is not None:
            return self.failure
        else:
            session = self._session(options, verdicts)
        if isinstance(session, EntryFailure):
            return session
        self._sessions.append(session)  # whoever interrupts the next line closes it, too
        with session.limited(options.request_seconds):
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
        ran = read(ScriptRun, session.load())
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
            if self._hello is None:
                process.kill()  # it still loads torch, has forked nothing, and notices nothing before that is done
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

    def _late(self, options: SessionOptions, verdicts: Verdicts, ends_at: float | None) -> Lanes | EntryFailure:
        """Lanes to processes that hold the entry, for a session that began without."""
        if self.failure is not None:
            return self.failure
        lanes = self._lanes(options)
        if isinstance(lanes, EntryFailure):
            return lanes
        lanes.ends_at = ends_at
        line = line_of("open", opening(options, lanes))
        with self.timings.step(step_of("open", {})):
            reply = lanes.wait(lanes.begin(line, anywhere=False)) or failed("signal", "the session's process is gone")
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
                    self._hello = failed("no-torch", f"{self._python} could not start the worker{self._last_words()}")
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
