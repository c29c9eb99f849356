"""The worker's processes: a template with torch loaded, a keeper for each session, a zygote that holds the entry.

    parent ──► template ──fork──► keeper ──fork──► zygote ──fork──► one process for each request

The template and the keepers never run user code, so they outlive whatever it does. The zygote imports the entry's
files once and forks for each request; what a request does to its process dies with it. Messages are JSON lines on
socket pairs of their own; user code has no way to our stdout.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import select
import signal
import socket
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib.util import find_spec
from json import dumps, loads
from time import monotonic, sleep
from typing import Any, NoReturn

from ddelint.nouns.protocol import (
    SLACK_SECONDS,
    Decision,
    EntryFailure,
    EntryInfo,
    SavedInputs,
    ScriptRun,
    SessionOptions,
    needs_inductor,
)
from ddelint.nouns.size_specs import SizeSpec
from ddelint.nouns.wire import from_wire, to_wire
from ddelint.trace import failures, reads
from ddelint.trace.isolation import (
    POLL_SECONDS,
    Child,
    Death,
    Limits,
    Supervisor,
    adopt_orphans,
    children,
    die_with_parent,
    kill_orphans,
    limit_address_space,
    settle_threads,
)
from ddelint.trace.lanes import MOST_LANES

OLDEST_TORCH = (2, 11)
PRELOADED = (
    "torch._dynamo",
    "torch.export",
    "torch.export._trace",
    "torch.fx.experimental.symbolic_shapes",
    "torch._subclasses.fake_tensor",
    "torch._functorch.aot_autograd",
    "sympy",
    "ddelint.trace.types",
    "ddelint.verify.eager",
    "ddelint.verify.compiled",
)
"""What requests import sooner or later; a release that has moved one of these just loads it later."""
INDUCTOR = ("torch._inductor.compile_fx", "torch._inductor.codegen.cpp")
"""A fifth of the start-up, and only the last steps need it: loaded on first use, then shared by the forks."""
CLOSING_SECONDS = 3.0
"""What keepers have to end their sessions' processes when the parent is gone."""
MOST_DESCRIPTORS = 2 + MOST_LANES
"""File descriptors that come with a new session: a working directory, a channel, its lanes."""
_CAPTURE = ("capture", "calls", "filename")
"""What a request says of the captured program that it is about: fields of EntrySpec."""
_LEAST_SHARE = 0.1
_UNHURRIED = {"trace": 0.5, "compile": 0.5, "compare": 0.18}
"""What a request may take of the time that is left before it stops by itself with less than it could say."""
_EAGER_SEEDS = 8
"""Seeds tried before an entry counts as failing in eager: some inputs are meant to raise."""


def main(descriptor: int) -> None:
    """The template: load torch, say so, then fork a keeper for each session that the parent opens."""
    channel = socket.socket(fileno=descriptor)
    failure = preload()
    if failure is not None:
        _send(channel, {"failure": to_wire(failure)})
        return
    import torch

    _send(channel, {"torch": str(torch.__version__), "python": sys.version.split()[0]})
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
            _Keeper(session, lanes).serve()
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


def preload() -> EntryFailure | None:
    """Load what all forks share.

    Loading makes a million objects and next to no garbage: looking for it is a sixth of the time. Collections in the
    forks leave these objects alone, too: faster, and their pages stay shared.
    """
    gc.disable()
    try:
        return _load_torch()
    finally:
        gc.freeze()
        gc.enable()


def _load_torch() -> EntryFailure | None:
    try:
        import torch
    except ImportError as error:
        return EntryFailure(
            "no-torch",
            f"{sys.executable} cannot import torch ({error}): `{sys.executable} -m pip install 'ddelint[trace]'` "
            "installs it; --python PATH names an interpreter that has it",
        )
    version = tuple(int(part) for part in str(torch.__version__).split("+")[0].split(".")[:2])
    if version < OLDEST_TORCH:
        wanted = ".".join(map(str, OLDEST_TORCH))
        return EntryFailure(
            "no-torch",
            f"{sys.executable} has torch {torch.__version__}; tracing needs {wanted} or newer: "
            f"`{sys.executable} -m pip install 'ddelint[trace]'`, or name another interpreter by --python PATH",
        )
    torch.set_num_threads(1)
    _load(PRELOADED)
    from ddelint.trace import torch_internals, warm_up

    torch_internals.seed_without_stacks()
    warm_up.front_ends()
    return None


def _load(names: Sequence[str]) -> None:
    for name in names:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)


@cache
def load_inductor() -> None:
    """Load what only code generation needs, for this process and its forks."""
    from ddelint.trace import warm_up

    _load(INDUCTOR)
    warm_up.lowering()


# ---------------------------------------------------------------------------- keeper


class _Keeper:
    """Stands between the parent and one zygote: enforces limits on it, reports its death, starts another.

    A second one, for what needs Inductor, loads that and the entry while the first one answers what is asked before.
    `lanes` lead from the parent to clones of the first zygote, past the keeper.
    """

    def __init__(self, channel: socket.socket, lanes: Sequence[socket.socket] = ()) -> None:
        self._channel = channel
        self._lanes = lanes
        self._secrets: Sequence[str] = ()
        self._reader = channel.makefile("rb")
        self._zygote: Child | None = None
        self._verifier: Child | None = None
        self._has_verifier = True
        self._cold = False
        self._options: SessionOptions | None = None

    def serve(self) -> None:
        """Answer the parent until it closes the session."""
        adopt_orphans()
        try:
            for line in self._reader:
                request = loads(line)
                match request["method"]:
                    case "cancel":  # it came when the answer was under way
                        continue
                    case "open":
                        self._options = from_wire(SessionOptions, request["options"])
                        self._secrets = request.get("lanes", ())
                        reply = self._open()
                    case "prepare":
                        self._start_verifier()
                        reply = {"result": None}
                    case _:
                        reply = self._forward(line.rstrip(b"\n"))
                _send(self._channel, reply)
        finally:
            for child in (self._zygote, self._verifier):
                if child is not None:
                    child.kill()
            kill_orphans(frozenset())

    def _open(self) -> dict[str, Any]:
        """Start a zygote and wait until it has the entry. The reply carries `result` (EntryInfo) or `failure`."""
        options = self._options
        assert options is not None
        cold = self._cold

        lanes, self._lanes = self._lanes, ()

        def run(supervisor: Supervisor) -> None:
            self._reader.close()
            self._channel.close()
            clones = [Supervisor(lane, secret.encode()) for lane, secret in zip(lanes, self._secrets)]
            _Zygote(supervisor, options, cold).serve(clones)

        zygote = Child.start(run)
        self._zygote = zygote
        for lane in lanes:
            lane.close()
        reply = self._receive(Limits(options.request_seconds, options.memory))
        if reply.get("cold"):
            zygote.kill()
            self._cold = True
            return self._open()
        if "failure" not in reply:
            reply = self._receive(Limits(options.request_seconds + SLACK_SECONDS))
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
        if not _failed_to_reload(reply) or not request.get("overlay"):
            return reply
        # some packages cannot be imported twice in a process: use one that has never seen the old text
        if request["method"] in ("trace", "attempt"):
            return self._cold_answer(request)
        if not request.get("fresh"):
            return reply
        # a comparison needs both: where the new text can be imported at all, it is swapped in place
        which = {name: request[name] for name in (*_CAPTURE, "backed") if name in request}
        loaded = self._cold_answer({**which, "method": "open", "overlay": request["overlay"]})
        if "failure" in loaded:
            return loaded
        return self._request(dumps({**request, "fresh": False}).encode())

    def _start_verifier(self) -> None:
        options = self._options
        assert options is not None
        if not self._has_verifier or self._verifier or self._zygote is None or self._cold or options.entry.script:
            return
        others = self._zygote.channel

        def run(supervisor: Supervisor) -> None:
            self._reader.close()
            self._channel.close()
            others.close()
            load_inductor()
            _Zygote(supervisor, options, cold=False).serve_quietly()

        self._verifier = Child.start(run)

    def _verified(self, line: bytes) -> dict[str, Any] | None:
        """The second zygote's answer; None where there is none, as the entry could not be loaded twice, say."""
        verifier, options = self._verifier, self._options
        if verifier is None:
            return None
        assert options is not None
        verifier.send(line)
        answer = verifier.receive(
            Limits(2 * options.request_seconds + SLACK_SECONDS), lambda: self._is_over_for(verifier)
        )
        if not isinstance(answer, Death):
            return _reply(answer)
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
        return self._receive(Limits(options.request_seconds + SLACK_SECONDS))

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
            self._reader.close()
            self._channel.close()
            failure = _import(options, warm=False)
            _answer(supervisor, _handle(options, request) if failure is None else {"failure": to_wire(failure)})

        return _supervised(Child.start(run), options, request, self._parent_is_gone)

    def _receive(self, limits: Limits) -> dict[str, Any]:
        zygote = self._zygote
        assert zygote is not None
        assert self._options is not None
        answer = zygote.receive(limits, lambda: self._is_over_for(zygote))
        if isinstance(answer, Death):
            self._zygote = None
            options = self._options
            return {"failure": to_wire(failures.from_death(answer, options.paths, options.entry.filename))}
        return _reply(answer)

    def _parent_is_gone(self) -> bool:
        return _is_closed(self._channel)

    def _is_over_for(self, child: Child) -> bool:
        """Whether the parent is gone. Where it only wants no answer any more, the child hears of it."""
        if _is_closed(self._channel):
            return True
        if _is_readable(self._channel):
            child.send(self._reader.readline().rstrip(b"\n"))
        return False


# ---------------------------------------------------------------------------- zygote


class _Zygote:
    """Holds the imported entry; forks for each request. `cold`: imports nothing itself, each fork does.

    `share`: how many there are, that have the memory of one request together.
    """

    def __init__(self, keeper: Supervisor, options: SessionOptions, cold: bool, share: int = 1) -> None:
        self._keeper = keeper
        self._reader = keeper.channel.makefile("rb")
        self._options = options
        self._cold = cold
        self._memory = options.memory // share

    def serve(self, clones: Sequence[Supervisor] = ()) -> None:
        """Import, report what was found, answer requests until the keeper closes the channel; so do the clones."""
        adopt_orphans()
        if not self._cold:
            failure = _import(self._options)
            if failure is not None:
                _answer(self._keeper, {"failure": to_wire(failure)})
                return
            if is_unforkable():
                _answer(self._keeper, {"cold": True})
                return
        _answer(self._keeper, {"imported": True})
        found = self._fork({"method": "open" if self._options.entry.script is None else "captures"})
        for number in range(len(clones) if "failure" not in found else 0):
            if os.fork() == 0:
                self._be_clone(clones[number], [*clones[:number], *clones[number + 1 :]])
        for clone in clones:
            clone.channel.close()
        _answer(self._keeper, found)
        self._answer_all()

    def _be_clone(self, parent: Supervisor, others: Sequence[Supervisor]) -> NoReturn:
        """In a fork of the zygote: answer the parent itself; what it asks needs no keeper."""
        status = 1
        try:
            die_with_parent()
            adopt_orphans()
            self._reader.close()
            for other in (self._keeper, *others):
                other.channel.close()
            _Zygote(parent, self._options, self._cold, share=len(others) + 1)._answer_all()
            status = 0
        finally:
            os._exit(status)

    def serve_quietly(self) -> None:
        """Import, and answer requests; where it cannot be imported, end without a word."""
        adopt_orphans()
        if _import(self._options) is None and not is_unforkable():
            self._answer_all()

    def _answer_all(self) -> None:
        for line in self._reader:
            request = loads(line)
            if request["method"] != "cancel":  # that came when the answer was under way
                _answer(self._keeper, self._fork(request))

    def _fork(self, request: dict[str, Any]) -> dict[str, Any]:
        """Answer one request in a process of its own."""
        if needs_inductor(request["method"], request):
            load_inductor()
        before, spent, started = children(), _seconds_of_children(), monotonic()
        child = Child.start(lambda zygote: self._answer(zygote, request))
        try:
            reply = _supervised(child, self._options, request, self._is_over, self._memory)
        finally:
            kill_orphans(before)
        hurried = _is_hurried(self._options, request, monotonic() - started)
        return {**reply, "cpu": _seconds_of_children() - spent, **({"hurried": True} if hurried else {})}

    def _is_over(self) -> bool:
        """Whether nobody waits for the answer: whoever asked is gone, or has said so."""
        return _is_readable(self._keeper.channel)

    def _answer(self, zygote: Supervisor, request: dict[str, Any]) -> None:
        owner = os.getpid()
        self._reader.close()
        self._keeper.channel.close()
        failure: EntryFailure | None = None
        if self._cold:
            # one captured program needs only so much of the script
            failure = _import(self._options, warm="capture" not in request)
        before = reads.mark()
        reply = {"failure": to_wire(failure)} if failure is not None else _handle(self._options, request)
        if os.getpid() == owner:
            _answer(zygote, {**reply, **_read(request, before)})


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


def answered_by_fork(
    options: SessionOptions, request: Mapping[str, Any], prepare: Callable[[], None]
) -> dict[str, Any]:
    """One request, answered by a fork of this process, which holds the program (see trace.live)."""

    def run(supervisor: Supervisor) -> None:
        prepare()
        _answer(supervisor, _handle(options, request))

    return _supervised(Child.start(run), options, request, lambda: False)


def is_unforkable() -> bool:
    """Whether this process has something that its forks cannot use: a CUDA context, autograd's threads."""
    return _uses_cuda() or _has_autograd_threads()


def load_for_requests() -> None:
    """Import what most requests need, so that not every fork does."""
    _load(PRELOADED)


def _seconds_of_children() -> float:
    """CPU seconds of the children that have ended, and of theirs."""
    spent = os.times()
    return spent.children_user + spent.children_system


def _supervised(
    child: Child,
    options: SessionOptions,
    request: Mapping[str, Any],
    cancelled: Callable[[], bool],
    memory: int | None = None,
) -> dict[str, Any]:
    """The one reply of a child within the limits of the entry and the request; the child is gone afterwards."""
    seconds = min(options.request_seconds, request.get("seconds", options.request_seconds))
    try:
        answer = child.receive(Limits(seconds, memory or options.memory), cancelled)
    finally:
        child.kill()
    if isinstance(answer, Death):
        return {"failure": to_wire(failures.from_death(answer, options.paths, options.entry.filename)), "died": True}
    return _reply(answer)


def _reply(answer: bytes) -> dict[str, Any]:
    """A child's answer, read; a failure where it is none: user code may have replaced what writes it."""
    try:
        found = loads(answer)
    except ValueError:
        found = None
    if isinstance(found, dict):
        return found
    return {"failure": to_wire(EntryFailure("forged", "the entry's process gave an answer that is none of ddelint's"))}


def _failed_to_reload(reply: Mapping[str, Any]) -> bool:
    """Whether loading the new text beside the old one may be what failed."""
    failure = reply.get("failure")
    if not failure or failure["kind"] in ("timeout", "memory", "cancelled"):
        return False
    return bool(reply.get("reloading") or reply.get("died"))


def _is_readable(channel: socket.socket) -> bool:
    """Whether something has come on a channel, its end included."""
    return bool(select.select([channel], [], [], 0)[0])


def _is_closed(channel: socket.socket) -> bool:
    """Whether the other end of a channel is gone."""
    if not _is_readable(channel):
        return False
    try:
        return channel.recv(1, socket.MSG_PEEK) == b""
    except OSError:
        return True


def _import(options: SessionOptions, *, warm: bool = True) -> EntryFailure | None:
    """Get this process ready for the entry; `warm`: execute its files."""
    from ddelint.trace import entries, overlay

    sys.dont_write_bytecode = True
    limit_address_space(options.memory)
    sys.argv = [options.entry.filename]
    try:
        _prepare(options)
        if warm:
            _loader(options).warm()
            overlay.remember()
    except entries.EntryProblem as problem:
        return EntryFailure(problem.kind, problem.message, problem.span)
    except BaseException as error:
        return failures.from_exception(error, options.paths, options.entry.filename)
    return None


def _prepare(options: SessionOptions) -> None:
    from ddelint.trace import entries, registrations

    registrations.watch()
    reads.watch()
    entries.prepare_path(options)
    if options.cpp:
        from ddelint.trace import torch_internals

        torch_internals.warm_cpp_stack()


def _uses_cuda() -> bool:
    """Whether this process has opened the device (then its forks cannot)."""
    import torch

    if torch.cuda.is_initialized():
        return True
    with contextlib.suppress(OSError):
        for name in os.listdir("/proc/self/fd"):
            with contextlib.suppress(OSError):
                if os.readlink(f"/proc/self/fd/{name}").startswith("/dev/nvidia-uvm"):
                    return True
    return False


def _has_autograd_threads() -> bool:
    """Whether a backward pass has started threads for devices (autograd then refuses to work in a fork)."""
    with contextlib.suppress(OSError):
        for task in os.listdir("/proc/self/task"):
            with contextlib.suppress(OSError), open(f"/proc/self/task/{task}/comm") as file:
                if file.read().startswith("pt_autograd"):
                    return True
    return False


# ---------------------------------------------------------------------------- requests, each in its own fork


def _handle(options: SessionOptions, request: Mapping[str, Any]) -> dict[str, Any]:
    """Run one request: `result` holds what the method gives, `failure` why it could not."""
    from ddelint.trace import entries

    options = replace(options, timeout=min(options.timeout, request.get("seconds", options.timeout)))
    if "capture" in request:
        spec = replace(options.entry, **{name: request[name] for name in _CAPTURE})
        options = replace(options, entry=spec, backed=request["backed"])
    method: Callable[[SessionOptions, Mapping[str, Any]], object] = _METHODS[request["method"]]
    try:
        return {"result": to_wire(method(options, request))}
    except entries.EntryProblem as problem:
        return {"failure": to_wire(EntryFailure(problem.kind, problem.message, problem.span))}
    except _Internal as error:
        return {"failure": to_wire(failures.internal(error.__cause__ or error))}
    except BaseException as error:
        failure = failures.from_exception(error, options.paths, options.entry.filename)
        return {"failure": to_wire(failure), "reloading": getattr(error, _USERS, False)}


class _Internal(Exception):
    """Wraps an exception of our own engine, so that it isn't taken for the user's."""


@contextlib.contextmanager
def _engine() -> Any:
    """What is raised inside is ours to fix, not the user's, unless the user's code ended the process."""
    try:
        yield
    except Exception as error:
        if isinstance(error, MemoryError) or getattr(error, _USERS, False):
            raise
        raise _Internal from error


_USERS = "_ddelint_users"
"""Set on exceptions that the user's code raised while the engine had it loaded again."""


def _loader(options: SessionOptions) -> Any:
    """What loads the entry: from its files, or from what a script captured."""
    from ddelint.trace import capture, entries

    return entries.Loader(options) if options.entry.script is None else capture.Loader(options)


def _captures(options: SessionOptions, request: Mapping[str, Any]) -> ScriptRun:
    from ddelint.trace import capture

    return capture.script_run(options)


def _save(options: SessionOptions, request: Mapping[str, Any]) -> SavedInputs:
    from ddelint.trace import capture

    return capture.save(options, request["filename"])


def _open(options: SessionOptions, request: Mapping[str, Any]) -> EntryInfo:
    import torch

    from ddelint.trace import entries, overlay

    if not options.has_entry:
        return EntryInfo("", (), False, False, str(torch.__version__), ())
    loader = _loader(options)
    if request.get("overlay"):
        overlay.install(request["overlay"])
    entry = loader.load()
    requires_grad = entries.run_eagerly(entry, options.seed, _EAGER_SEEDS)
    devices = ("cpu", "cuda") if options.device != "cpu" and torch.cuda.is_available() else ("cpu",)
    return EntryInfo(
        label=entry.label,
        parameters=entry.parameters,
        requires_grad=requires_grad,
        seeded=entry.seeded,
        torch_version=str(torch.__version__),
        devices=devices,
        names=loader.entry_names(),
        unbacked=tuple(f"{name}.{dimension}" for name, found in entry.unbacked.items() for dimension in found),
        triton=find_spec("triton") is not None,
    )


def _loaded(options: SessionOptions, request: Mapping[str, Any]) -> Any:
    """The entry with the request's overlay in effect."""
    from ddelint.trace import overlay

    try:
        # what a script captured are live objects: their functions are swapped, and the script runs again only where
        # that cannot be
        captured = options.entry.script is not None
        how = overlay.install(request["overlay"], fresh=request.get("fresh", False) and not captured)
        loader = _loader(options)
        try:
            return loader.load(again=how == "fresh" if captured else how != "none")
        except Exception:
            if how != "swap":
                raise
            # a file that cannot be executed twice (it registers something): its functions are the new ones anyway
            return loader.load()
    except Exception as error:
        with contextlib.suppress(AttributeError):
            setattr(error, _USERS, True)
        raise


def _trace(options: SessionOptions, request: Mapping[str, Any]) -> object:
    entry = _loaded(options, request)
    with _engine():
        from ddelint.trace.explorer import trace_entry

        return trace_entry(entry, options.paths, options, first=request.get("first", False))


def _original(options: SessionOptions, request: Mapping[str, Any]) -> Any:
    """The entry as it is on disk, or as the request's other version has it."""
    return _loaded(options, {"overlay": request["original"]}) if request.get("original") else _loader(options).load()


def _compare(options: SessionOptions, request: Mapping[str, Any]) -> object:
    original = _original(options, request)
    decisions = from_wire(tuple[Decision, ...], request["decisions"])
    with _engine():
        from ddelint.verify.eager import compare

        return compare(
            original,
            lambda: _loaded(options, request),
            decisions,
            options,
            request["samples"],
            request["quick"],
            only=frozenset(request["only"]),
        )


def _compile(options: SessionOptions, request: Mapping[str, Any]) -> object:
    original = _original(options, request)
    with _engine():
        from ddelint.trace import stand_ins
        from ddelint.verify.compiled import compile_targets

        def rewritten() -> Any:
            entry = _loaded(options, request)
            for operator, body in request["fakes"].items():
                stand_ins.register(operator, body)
            return entry

        return compile_targets(
            original,
            rewritten,
            tuple(request["targets"]),
            options,
            request["samples"],
            request["backend"],
        )


def _measure(options: SessionOptions, request: Mapping[str, Any]) -> object:
    original = _original(options, request)
    with _engine():
        from ddelint.verify.bench import measure_program

        return measure_program(
            original, lambda: _loaded(options, request), request["which"], options, parity=request["parity"]
        )


def _parity(options: SessionOptions, request: Mapping[str, Any]) -> object:
    original = _original(options, request)
    with _engine():
        from ddelint.verify.bench import compare_sizes

        return compare_sizes(original, lambda: _loaded(options, request), options, timed=request["timed"])


def _gpu(options: SessionOptions, request: Mapping[str, Any]) -> object:
    original = _original(options, request)
    with _engine():
        from ddelint.verify.gpu import examine

        return examine(
            original, lambda: _loaded(options, request), options, request["samples"], interpreted=request["interpreted"]
        )


def _types(options: SessionOptions, request: Mapping[str, Any]) -> object:
    from ddelint.trace import types

    entry = _loader(options).load()
    return types.record(entry, options.paths, options.seed, frozenset(request["functions"]))


def _contract(options: SessionOptions, request: Mapping[str, Any]) -> object:
    entry = _loaded(options, request)
    with _engine():
        from ddelint.shapes.contract import contract_of

        return contract_of(entry, options)


def _declared(options: SessionOptions, request: Mapping[str, Any]) -> object:
    entry = _loaded(options, request)
    from ddelint.shapes.declared import declarations

    return declarations(entry, options.seed, request["wanted"])


def _try_spec(options: SessionOptions, request: Mapping[str, Any]) -> object:
    entry = _loaded(options, request)
    with _engine():
        from ddelint.shapes.exported_trying import try_exported
        from ddelint.shapes.trying import try_spec

        spec = from_wire(SizeSpec, request["spec"])
        if spec.exported:
            return try_exported(entry, options.seed, spec.exported, request["first"], request["cases"])
        return try_spec(entry, options.seed, spec, request["first"], request["cases"])


def _try_dispatch(options: SessionOptions, request: Mapping[str, Any]) -> object:
    entry = _loaded(options, request)
    with _engine():
        from ddelint.shapes.dispatch_trying import try_ahead, try_dispatch

        if request["calls"]:
            return try_ahead(entry, options.seed, request["text"], request["calls"], request["cases"])
        return try_dispatch(entry, options.seed, request["text"], request["cases"])


def _graph_costs(options: SessionOptions, request: Mapping[str, Any]) -> object:
    entry = _loaded(options, request)
    with _engine():
        from ddelint.shapes.graph_costs import arms_from, graph_costs

        arms = list(arms_from(request["arms"], lambda spec: from_wire(SizeSpec, spec)))
        return graph_costs(entry, options.seed, arms)


def _count_graphs(options: SessionOptions, request: Mapping[str, Any]) -> object:
    entry = _loaded(options, request)
    with _engine():
        from ddelint.shapes.stream_trying import count_graphs

        return count_graphs(entry, options.seed, request["stream"])


def _programs(options: SessionOptions, request: Mapping[str, Any]) -> object:
    from ddelint.trace import program_texts

    return program_texts.program_texts(options, request["settings"])


def _attempt(options: SessionOptions, request: Mapping[str, Any]) -> object:
    from ddelint.trace import attempts

    return attempts.attempt(options, request["block"], request["entry"], request["overlay"])


_METHODS: dict[str, Callable[[SessionOptions, Mapping[str, Any]], object]] = {
    "captures": _captures,
    "save": _save,
    "open": _open,
    "enter": _open,
    "trace": _trace,
    "compare": _compare,
    "compile": _compile,
    "types": _types,
    "measure": _measure,
    "parity": _parity,
    "gpu": _gpu,
    "contract": _contract,
    "declared": _declared,
    "try_spec": _try_spec,
    "try_dispatch": _try_dispatch,
    "graph_costs": _graph_costs,
    "count_graphs": _count_graphs,
    "programs": _programs,
    "attempt": _attempt,
}


def _answer(supervisor: Supervisor, message: Mapping[str, Any]) -> None:
    supervisor.send(dumps(message).encode())


def _send(channel: socket.socket, message: Mapping[str, Any]) -> None:
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        channel.sendall(dumps(message).encode() + b"\n")
