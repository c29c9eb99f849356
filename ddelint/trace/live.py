"""Programs that live in this very process, as sessions: a notebook's, a test's.

Each request is answered by a fork of the process, as a script's captures are: nothing that tracing does survives in the
process itself. What cannot be done so is running module-level code again, since nobody knows what made the programs.
"""

from __future__ import annotations

import contextlib
import gc
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from time import monotonic
from typing import Any, Self

import torch

from ddelint.errors import DdelintError
from ddelint.nouns.diagnostics import TIME_IS_OVER
from ddelint.nouns.protocol import EntryFailure, EntrySpec, ScriptRun, ScriptSpec, SessionOptions
from ddelint.nouns.wire import to_wire
from ddelint.trace import capture, cells, overlay, script_runs, torch_internals
from ddelint.trace.captured_sessions import CaptureSession
from ddelint.trace.forkable import is_unforkable
from ddelint.trace.preloading import load_for_requests
from ddelint.trace.session import Session
from ddelint.trace.zygote import answered_by_fork

HERE = ScriptSpec("this process")
"""What stands where a script's name would."""


class LiveCaptures:
    """The programs that a recorder has kept in this process; what CapturedScript is for a script. A context manager."""

    def __init__(self, recorder: capture.Recorder, options: SessionOptions, texts: cells.Cells) -> None:
        """`options.entry.script` is HERE. Raises DdelintError where a fork of this process could not work."""
        if not hasattr(os, "fork"):
            raise DdelintError("tracing needs a system with fork (Linux or macOS)")
        if is_unforkable():
            raise DdelintError(
                "this process has opened a CUDA device, or has run a backward pass whose threads wait for one, "
                "and a fork of it cannot use these: capture before that, or use `ddelint run`"
            )
        self.run = ScriptRun(tuple(one.info for one in recorder.captures), recorder.left_out)
        self._answers = _Answers(recorder, options, texts)
        load_for_requests()
        overlay.note_functions()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        overlay.forget_functions()

    def open(self, number: int, *, backed: bool = False) -> Session | EntryFailure:
        """The program as a session; run once in eager. `backed`: see SessionOptions."""
        session = CaptureSession(self._answers, number, self.run.captures[number], backed)
        failure = session.start()
        return session if failure is None else failure


class _Answers(Session):
    """All programs of this process; each request says which one it is about."""

    def __init__(self, recorder: capture.Recorder, options: SessionOptions, texts: cells.Cells) -> None:
        self.options = options
        self._info = None
        self._recorder = recorder
        self._texts = texts
        self._ends_at: float | None = None

    @property
    def ends_at(self) -> float | None:
        """When the program's time is over."""
        return self._ends_at

    @ends_at.setter
    def ends_at(self, moment: float | None) -> None:
        self._ends_at = moment

    def ask(self, method: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """One request, answered by a fork."""

        def prepare() -> None:
            # what OpenMP's threads hold is lost in a fork, and with a single thread nothing needs them
            torch.set_num_threads(1)
            gc.freeze()  # collections here leave the process's own objects alone, and their pages shared
            self._texts.rename()
            script_runs.adopt(self._recorder)

        if self.is_over:
            return {"failure": to_wire(EntryFailure("timeout", TIME_IS_OVER))}
        seconds = {} if self._ends_at is None else {"seconds": self._ends_at - monotonic()}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # Python's on forks of processes with threads
            return answered_by_fork(self.options, {"method": method, **arguments, **seconds}, prepare)

    @property
    def width(self) -> int:
        """One request at a time."""
        return 1

    def begin(self, method: str, arguments: Mapping[str, Any]) -> None:
        """Nothing: the process that would answer meanwhile is the one that goes on."""

    def forget(self) -> None:
        """Nothing was begun."""

    def expect_compiled(self) -> None:
        """Nothing: there is no other process that could load anything."""

    def close(self) -> None:
        """Nothing is held."""


@contextlib.contextmanager
def recording(recorder: capture.Recorder) -> Iterator[None]:
    """Inside, what is compiled or exported runs in eager and is kept; modules that were compiled before, too."""
    with recorder.listening(), torch_internals.compiled_modules_watched(recorder.heard):
        yield


def recorder_of(patterns: Sequence[str]) -> capture.Recorder:
    """What keeps the calls of programs."""
    return capture.Recorder(patterns)


def session_options(options: SessionOptions, files: Sequence[str]) -> SessionOptions:
    """The options of a session in this process, `files` counting as ours, too."""
    entry = replace(options.entry, script=HERE)
    return replace(options, entry=entry, paths=tuple(dict.fromkeys((*options.paths, *files))))


def entry_spec() -> EntrySpec:
    """The entry that stands for this process."""
    return EntrySpec(HERE.target, script=HERE)
