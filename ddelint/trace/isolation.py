"""One forked process with limits: its messages, its time, its memory, and how it died.

User code runs only in such processes. A child that hangs, crashes, exits or eats memory is killed with everything
it started, and its parent gets a `Death` that says how it went.
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import math
import os
import re
import secrets
import select
import signal
import socket
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import monotonic
from typing import Any

from ddelint.system.streams import fill_descriptors

POLL_SECONDS = 0.05
"""How often a running child's memory is read."""
_CAPTURE_LIMIT = 4 * 2**20
"""Bytes of captured stderr beyond which the capture starts over, so that a flood does not fill the disk."""
_TAIL_BYTES = 8192
_DUMP_SIGNAL = getattr(signal, "SIGUSR1", None)
_NO_ANSWER = 70
"""Exit status of a child that could not send its answer."""
_RAISED = re.compile(r"[A-Za-z_][\w.]*(?::|$)")
_LONGEST_CAUSE = 300
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_LINUX = sys.platform.startswith("linux")


@dataclass(frozen=True, slots=True)
class Limits:
    """Wall-clock seconds for one answer, and bytes of memory that the child may add to what it started with."""

    timeout: float
    memory: int | None = None


@dataclass(frozen=True, slots=True)
class Death:
    """How a child ended instead of answering.

    kind: exit, signal, timeout, memory, forged (what it wrote is no message of ours). `output` is the end of what it
    wrote to stderr, where a traceback of its Python frames stands when it crashed or was killed by us.
    """

    kind: str
    message: str
    output: str


class Supervisor:
    """A child's side of the channel to who supervises it.

    Each of its messages begins with a secret that was drawn for this child. User code shares the child's descriptors,
    and may write to all it finds: what comes without the secret is no message.
    """

    def __init__(self, channel: socket.socket, secret: bytes) -> None:
        self.channel = channel
        self._secret = secret

    def send(self, line: bytes) -> None:
        """Write one message (without its newline). A supervisor that is gone is nobody's loss."""
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.channel.sendall(self._secret + line + b"\n")


class Child:
    """A forked process in a session of its own, and the socket to it. Use `start`."""

    def __init__(self, pid: int, channel: socket.socket, capture: int, secret: bytes) -> None:
        self.pid = pid
        self.channel = channel
        self._secret = secret
        self._capture = capture
        self._buffer = b""
        self._baseline = private_memory(pid)
        self._status: int | None = None

    @classmethod
    def start(cls, run: Callable[[Supervisor], None]) -> Child:
        """Fork; the child calls `run` with its end of the channel and ends when `run` returns."""
        fill_descriptors()
        secret = secrets.token_hex(16).encode()
        here, there = socket.socketpair()
        with tempfile.TemporaryFile(prefix="ddelint-") as file:
            capture = os.dup(file.fileno())
        for stream in (sys.stdout, sys.stderr):  # user code may have put anything there
            with contextlib.suppress(Exception):
                stream.flush()
        pid = os.fork()
        if pid:
            there.close()
            return cls(pid, here, capture, secret)
        status = _NO_ANSWER
        try:
            here.close()
            _settle(capture)
            settle_threads()
            run(Supervisor(there, secret))
            status = 0
        except BaseException:
            # the supervisor sees the exit status; the text helps whoever reads the capture, whatever `sys.stderr` is
            with contextlib.suppress(BaseException):
                os.write(2, traceback.format_exc().encode(errors="replace"))
        finally:
            with contextlib.suppress(BaseException):
                sys.stderr.flush()
            os._exit(status)

    def send(self, line: bytes) -> None:
        """Write one message (without its newline). A dead child is noticed by `receive`, not here."""
        with contextlib.suppress(OSError):
            self.channel.sendall(line + b"\n")

    def receive(self, limits: Limits, cancelled: Callable[[], bool] = lambda: False) -> bytes | Death:
        """Wait for one message. On a broken limit, or when `cancelled()` turns true, everything is killed first."""
        deadline = monotonic() + limits.timeout
        while True:
            if not self._buffer.startswith(self._secret[: len(self._buffer)]):
                return self._killed("forged", "wrote to a channel of ddelint: no answer of it can be believed")
            line = self._line()
            if line is not None:
                return line
            remaining = deadline - monotonic()
            if remaining <= 0:
                return self._killed("timeout", f"did not finish within {_in_words(limits.timeout)}")
            ready, _, _ = select.select([self.channel], [], [], min(POLL_SECONDS, remaining))
            if ready:
                with contextlib.suppress(OSError):
                    received = self.channel.recv(2**20)
                    if received:
                        self._buffer += received
                        continue
                return self._ended()
            if self._exited():
                # what it managed to send may still be in the socket
                while select.select([self.channel], [], [], 0)[0]:
                    received = self.channel.recv(2**20)
                    if not received:
                        break
                    self._buffer += received
                if b"\n" not in self._buffer:
                    return self._ended()
                continue
            if limits.memory is not None and self._added_memory() > limits.memory:
                return self._killed("memory", f"took more than {_bytes(limits.memory)} of memory")
            if cancelled():
                return self._killed("cancelled", "was cancelled")
            self._trim_capture()

    def kill(self) -> None:
        """End the child and everything it started; returns when it is gone."""
        if self._status is None:
            for pid in [*_descendants(self.pid), self.pid]:
                _kill_group(pid)
            self._reap(block=True)
        self.channel.close()
        if self._capture >= 0:
            os.close(self._capture)
            self._capture = -1

    def tail(self) -> str:
        """The last few kilobytes that the child wrote to stderr."""
        try:
            size = os.fstat(self._capture).st_size
            return os.pread(self._capture, _TAIL_BYTES, max(0, size - _TAIL_BYTES)).decode(errors="replace")
        except OSError:
            return ""

    def _line(self) -> bytes | None:
        line, newline, rest = self._buffer.partition(b"\n")
        if not newline:
            return None
        self._buffer = rest
        return line.removeprefix(self._secret)

    def _exited(self) -> bool:
        """Whether it has ended; it stays a zombie, so that its process group keeps its number until `kill`."""
        if self._status is not None:
            return True
        waitid: Any = getattr(os, "waitid", None)
        if waitid is None:
            gone = self._reap(block=False)
            if gone:
                with contextlib.suppress(OSError):
                    os.killpg(self.pid, signal.SIGKILL)
            return gone
        try:
            return bool(waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT))
        except ChildProcessError:
            return True

    def _reap(self, *, block: bool) -> bool:
        """Take the exit status; gives whether there is one."""
        try:
            pid, status = os.waitpid(self.pid, 0 if block else os.WNOHANG)
        except ChildProcessError:
            pid, status = self.pid, -1
        if pid:
            self._status = status
        return bool(pid)

    def _killed(self, kind: str, message: str) -> Death:
        self._dump_frames()
        output = self.tail()
        self.kill()
        return Death(kind, message, output)

    def _dump_frames(self) -> None:
        """Have the child write its Python frames to its stderr (faulthandler does so even in a tight loop)."""
        if _DUMP_SIGNAL is None or self._capture < 0:
            return
        before = os.fstat(self._capture).st_size
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, _DUMP_SIGNAL)
        for _ in range(20):
            select.select([], [], [], 0.01)
            if self._exited():
                return
            now = os.fstat(self._capture).st_size
            if now > before and now == _size_after_pause(self._capture):
                return

    def _ended(self) -> Death:
        """The channel is closed: say how the process went."""
        for _ in range(200):
            if self._exited():
                break
            select.select([], [], [], 0.01)
        output = self.tail()
        if not self._exited():
            # user code closed our descriptor and goes on
            self.kill()
            return Death("exit", "closed the channel to its supervisor", output)
        for pid in _descendants(self.pid):
            _kill_group(pid)
        _kill_group(self.pid)
        self._reap(block=True)
        status = self._status or 0
        self.kill()
        if os.WIFSIGNALED(status):
            number = os.WTERMSIG(status)
            name = _signal_name(number)
            hint = " (the system kills this way when memory runs out)" if name == "SIGKILL" else ""
            return Death("signal", f"was killed by {name}{hint}", output)
        code = os.waitstatus_to_exitcode(status)
        if code == _NO_ANSWER:
            return Death("exit", f"ended without an answer{_cause(output)}", output)
        return Death("exit", f"ended its process with exit code {code}", output)

    def _added_memory(self) -> int:
        total = private_memory(self.pid) - self._baseline
        for pid in _descendants(self.pid):
            total += private_memory(pid)
        return total

    def _trim_capture(self) -> None:
        with contextlib.suppress(OSError):
            if os.fstat(self._capture).st_size > _CAPTURE_LIMIT:
                os.ftruncate(self._capture, 0)


def _cause(output: str) -> str:
    """What a traceback at the end of a child's stderr says that it died of."""
    lines = [line for line in output.splitlines() if line.strip()]
    said = bool(lines) and _RAISED.match(lines[-1]) is not None and "Traceback (most recent call last):" in output
    return f": {lines[-1][:_LONGEST_CAUSE]}" if said else ""


def _size_after_pause(descriptor: int) -> int:
    """The file's size a moment later: a writer that has begun gets the time to finish."""
    select.select([], [], [], 0.01)
    return os.fstat(descriptor).st_size


def private_memory(pid: int) -> int:
    """Resident bytes that belong to the process (anonymous and shared memory, no mapped files); 0 when unknown."""
    try:
        with open(f"/proc/{pid}/status", "rb") as file:
            total = 0
            for line in file:
                if line.startswith((b"RssAnon:", b"RssShmem:")):
                    total += int(line.split()[1]) * 1024
            return total
    except (OSError, ValueError, IndexError):
        return 0


def last_words() -> str:
    """The last line that this process wrote to its captured stderr, where that is a file; empty otherwise."""
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.flush()
        size = os.fstat(2).st_size
        lines = os.pread(2, _TAIL_BYTES, max(0, size - _TAIL_BYTES)).decode(errors="replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "")
    return ""


def die_with_parent(parent: int | None = None) -> None:
    """Ask the kernel to kill this process when the one that forked it dies (`parent`: its number, where it is known).

    On Linux the kernel kills; where there is kqueue (macOS), a thread waits for the parent's end if `parent` is given.
    """
    if _LINUX:
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if parent is not None and os.getppid() != parent:  # it died before it could be watched
            os._exit(_NO_ANSWER)
    elif parent is not None and hasattr(select, "kqueue"):
        threading.Thread(target=_exit_after, args=(parent,), daemon=True).start()


def _exit_after(parent: int) -> None:
    kind: Any = select
    event = kind.kevent(parent, kind.KQ_FILTER_PROC, kind.KQ_EV_ADD, kind.KQ_NOTE_EXIT)
    with contextlib.suppress(OSError):  # there is no such process any more
        kind.kqueue().control([event], 1)
    os._exit(_NO_ANSWER)


def adopt_orphans() -> None:
    """Become the parent of what descendants of this process leave behind, daemons included (Linux)."""
    if _LINUX:
        _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def kill_orphans(known: frozenset[int]) -> None:
    """Kill all children of this process, and what they started, that are not `known`."""
    while new := children() - known:
        for child in new:
            for pid in [*_descendants(child), child]:
                _kill_group(pid)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(child, 0)


def children() -> frozenset[int]:
    """The processes whose parent this one is (Linux; elsewhere none are found)."""
    return frozenset(_children(os.getpid()))


def _prctl(option: int, value: int) -> None:
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def limit_address_space(memory: int) -> None:
    """Where there is no /proc to read, let the kernel refuse allocations beyond `memory` more bytes."""
    if _LINUX:
        return
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (memory + 2**33, resource.RLIM_INFINITY))


def settle_threads() -> None:
    """To be called first in a fork, where torch is loaded.

    torch replaces a fork's thread pool when it is next asked for. Where two threads ask at once (autograd's own thread
    for a device, which a CUDA build starts without a device, too), one of them finds none and ends the process:
    `Invalid thread pool!` (caffe2/utils/threadpool/pthreadpool-cpp.cc, `pthreadpool`). So it is asked for now, by one.
    """
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.set_num_threads(torch.get_num_threads())


def _settle(capture: int) -> None:
    """In the child: a session of its own, no terminal, nothing on the parent's stdout."""
    os.setsid()
    die_with_parent()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL if number != signal.SIGPIPE else signal.SIG_IGN)
    if _LINUX:
        # under memory pressure the kernel should take this process, not the user's session
        with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
            file.write("1000")
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    os.set_inheritable(capture, False)
    os.dup2(capture, 2)
    with contextlib.suppress(ImportError, OSError):
        import fcntl

        fcntl.fcntl(2, fcntl.F_SETFL, fcntl.fcntl(2, fcntl.F_GETFL) | os.O_APPEND)
    for descriptor, name in enumerate(("stdin", "stdout", "stderr")):
        stream = open(descriptor, "w" if descriptor else "r", buffering=1, closefd=False, errors="replace")  # noqa: SIM115
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    faulthandler.enable(2, all_threads=False)
    if _DUMP_SIGNAL is not None:
        faulthandler.register(_DUMP_SIGNAL, 2, all_threads=False, chain=False)


def _kill_group(pid: int) -> None:
    with contextlib.suppress(OSError):
        if os.getpgid(pid) == pid:
            os.killpg(pid, signal.SIGKILL)
    with contextlib.suppress(OSError):
        os.kill(pid, signal.SIGKILL)


def _descendants(pid: int) -> Iterator[int]:
    """All processes that descend from `pid`, deepest first (Linux; elsewhere none are found)."""
    for child in _children(pid):
        yield from _descendants(child)
        yield child


def _children(pid: int) -> list[int]:
    found: list[int] = []
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):
            with contextlib.suppress(OSError), open(f"/proc/{pid}/task/{task}/children") as file:
                found += [int(text) for text in file.read().split()]
    return found


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _bytes(count: int) -> str:
    for unit, size in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if count >= size:
            return f"{count / size:g} {unit}"
    return f"{count} bytes"


def _in_words(seconds: float) -> str:
    """A limit as it was given, or nearly: what loading has left of 5 seconds is 5 seconds to a reader."""
    whole = math.ceil(seconds)
    return "1 second" if whole == 1 else f"{whole} seconds"
