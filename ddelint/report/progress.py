"""Where a long call says on standard error what it is doing."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self

from ddelint.report.model import Progress

if TYPE_CHECKING:
    from rich.status import Status


class ClosingProgress(Progress, Protocol):
    """Progress that tidies up after itself."""

    def __enter__(self) -> Self:
        """Itself."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Leave no stage on the screen."""


def progress(quiet: bool, verbose: int) -> ClosingProgress:
    """Lines that stay on standard error; on a terminal, the stage at hand as well."""
    return StandardError(quiet, verbose, sys.stderr.isatty() and not quiet)


class StandardError:
    """The progress of a call from a shell. rich is imported for the first stage on a terminal, not before."""

    def __init__(self, quiet: bool, verbose: int, live: bool) -> None:
        self._quiet = quiet
        self._verbose = verbose
        self._live = live
        self._status: Status | None = None

    def __enter__(self) -> Self:
        """Itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Leave no stage on the screen."""
        if self._status is not None:
            self._status.stop()
            self._status = None

    def stage(self, text: str) -> None:
        """Replace the stage shown."""
        if self._live:
            if self._status is None:
                from rich.console import Console
                from rich.markup import escape

                self._status = Console(stderr=True).status(escape(text))
                self._status.start()
            else:
                from rich.markup import escape

                self._status.update(escape(text))
        elif self._verbose > 1:
            self._line(text)

    def note(self, text: str) -> None:
        """A line that stays; silent with `-q`."""
        if not self._quiet:
            self._line(text)

    def debug(self, text: str) -> None:
        """A line that stays, with `-v` only."""
        if self._verbose and not self._quiet:
            self._line(text)

    def _line(self, text: str) -> None:
        if self._status is not None:
            self._status.console.print(text, markup=False, highlight=False, soft_wrap=True)
        else:
            print(f"ddelint: {text}", file=sys.stderr, flush=True)
