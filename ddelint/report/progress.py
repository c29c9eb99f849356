"""Where a long call says on standard error what it is doing."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self

from ddelint.report.model import Progress
from ddelint.report.visible import visible

if TYPE_CHECKING:
    from rich.status import Status
    from rich.text import Text

    from ddelint.nouns.diagnostics import Diagnostic

SHORT = 0.5
"""Seconds of reading files that need no progress."""
MOST_FINDINGS = 12
"""Lines of findings on the screen while a call is at work; the report has all."""


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


class Remaining:
    """How long work that can be counted will take, by how long its share so far took."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._started = clock()
        self._done = 0
        self._total = 0
        self._at = self._started

    def share(self, done: int, total: int) -> None:
        """So much is done by now. Where less is done than before, it is other work, and counting starts anew."""
        if done < self._done or not self._total:
            self._started = self._clock()
        self._done, self._total, self._at = done, total, self._clock()

    def words(self) -> list[str]:
        """`3 of 9`, and from the second on `about 20 s left`."""
        if not self._total:
            return []
        reported = [f"{min(self._done + 1, self._total)} of {self._total}"]
        if self._done:
            spent = self._at - self._started
            expected = spent / self._done * (self._total - self._done) - (self._clock() - self._at)
            if expected > 1:
                reported.append(f"about {duration(expected)} left")
        return reported


def duration(seconds: float) -> str:
    """`8 s`, `25 s`, `3 min`: no more digits than a guess is worth."""
    if seconds < 10:
        return f"{max(round(seconds), 1)} s"
    if seconds < 90:
        return f"{round(seconds / 5) * 5} s"
    return f"{round(seconds / 60)} min"


class StandardError:
    """The progress of a call from a shell. On a terminal, rich is imported once a call takes long, not before."""

    def __init__(self, quiet: bool, verbose: int, live: bool, clock: Callable[[], float] = time.monotonic) -> None:
        self._quiet = quiet
        self._verbose = verbose
        self._live = live
        self._clock = clock
        self._started = clock()
        self._stage_started = self._started
        self._text = "reading"
        self._remaining = Remaining(clock)
        self._status: Status | None = None
        self._findings: dict[tuple[str, int, str], tuple[str, str]] = {}
        """By file, row and rule: the finding as one line, and what came of it."""

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
        self._text, self._stage_started = text, self._clock()
        if self._live:
            self._show()
        elif self._verbose > 1:
            self._line(text)

    def share(self, done: int, total: int) -> None:
        """How much of what can be counted is done; shown with a guess of the time left."""
        self._remaining.share(done, total)
        if self._live and self._clock() - self._started > SHORT:
            self._show()

    def finding(self, diagnostic: Diagnostic, outcome: str = "") -> None:
        """Shown until the call ends, on a terminal only: a pipe gets the report, whole."""
        if self._live:
            from ddelint.report.concise import line

            key = diagnostic.span.filename, diagnostic.span.row, diagnostic.code
            self._findings[key] = line(diagnostic), outcome
            self._show()

    def note(self, text: str) -> None:
        """A line that stays; silent with `-q`."""
        if not self._quiet:
            self._line(text)

    def debug(self, text: str) -> None:
        """A line that stays, with `-v` only."""
        if self._verbose and not self._quiet:
            self._line(text)

    def words(self) -> str:
        """The stage, how much is done, how long it has taken, how long it may take."""
        elapsed = self._clock() - self._stage_started
        took = [duration(elapsed)] if elapsed >= 2 else []
        return " · ".join([self._text, *took, *self._remaining.words()])

    def __rich__(self) -> Text:
        """What the terminal shows now; asked again several times a second."""
        from rich.text import Text

        return Text("\n".join(map(visible, [self.words(), *self.found()])), overflow="ellipsis", no_wrap=True)

    def found(self) -> list[str]:
        """What was found so far, what nothing has come of yet first, as far as there is room."""
        known = sorted(self._findings.values(), key=lambda finding: bool(finding[1]))
        shown = [f"{text} · {outcome or '…'}" for text, outcome in known[:MOST_FINDINGS]]
        return [*shown, f"and {len(known) - MOST_FINDINGS} more"] if len(known) > MOST_FINDINGS else shown

    def _show(self) -> None:
        if self._status is None:
            from rich.console import Console

            self._status = Console(stderr=True).status(self)
            self._status.start()

    def _line(self, text: str) -> None:
        text = visible(text)
        if self._status is not None:
            self._status.console.print(text, markup=False, highlight=False, soft_wrap=True)
        else:
            print(f"ddelint: {text}", file=sys.stderr, flush=True)
