"""Sessions about the programs that a script captured: all ask the processes of the one that ran it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from time import monotonic
from typing import Any, TypeVar

from ddelint.nouns.protocol import (
    CaptureInfo,
    EntryFailure,
    SavedInputs,
    ScriptRun,
)
from ddelint.trace.lanes import Request
from ddelint.trace.messages import result_of
from ddelint.trace.session import Session

T = TypeVar("T")


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
        return result_of(SavedInputs, self._session.ask("save", {"filename": filename}), SavedInputs())

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
