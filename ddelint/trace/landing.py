"""Where an exception that comes from outside (a timer) may be raised: in the user's code, between two of its lines.

Raised wherever the interpreter stands, it may leave a lock, a mode or a flag of torch's half way: their code expects
exceptions of what it calls, none from between two of its instructions.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from types import FrameType, TracebackType
from typing import Any, Self

_UNDERNEATH = ("torch", "sympy", "mpmath", "triton", "ddelint")
"""Packages whose code nobody interrupts, besides Python's own."""
_IN_NO_FILE = ("<frozen ", "<eval_with_key>")
"""How the code of Python's and torch's begins that stands in no file."""


class Landing:
    """A block during which `error` can be raised at the next line of the code that the frame `within` called."""

    def __init__(self, error: type[BaseException], within: FrameType) -> None:
        self._error = error
        self._depth = _depth(within)
        self._waiting: set[int] = set()
        self._traces = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._traces:
            sys.settrace(None)

    def postpones(self, frame: FrameType, by: int) -> bool:
        """See to it that the error is raised when `frame`, where Python stands, has returned to the user's code.

        False where that is not to be waited for: it is the user's, none of the user's is running, or whoever asks
        (`by`, a timer) has waited for it already.
        """
        if by in self._waiting:
            return False
        if self._waiting:
            self._waiting.add(by)
            return True
        called = _depth(frame) - self._depth
        found = next((one for one, _ in zip(_outwards(frame), range(called)) if is_users(one.f_code.co_filename)), None)
        if found is None or found is frame:
            return False
        self._waiting.add(by)
        found.f_trace = self._land
        if sys.gettrace() is None:
            self._traces = True
            sys.settrace(_ignore)
        return True

    def _land(self, frame: FrameType, event: str, argument: object) -> Any:
        raise self._error


def is_users(filename: str) -> bool:
    """Whether a file (an absolute path, or a name in angle brackets) is neither Python's nor what we stand on."""
    if filename.startswith(_IN_NO_FILE):
        return False
    library, installed = _libraries()
    if filename.startswith(installed):
        return False
    return not filename.startswith(library) or "site-packages" in filename


@cache
def _libraries() -> tuple[str, tuple[str, ...]]:
    """Python's own folder, and those of the packages underneath, each with a separator at its end."""
    found = [find_spec(name) for name in _UNDERNEATH]
    folders = [os.path.dirname(spec.origin) for spec in found if spec is not None and spec.origin is not None]
    return os.path.join(sysconfig.get_path("stdlib"), ""), tuple(os.path.join(folder, "") for folder in folders)


def _ignore(frame: FrameType, event: str, argument: object) -> None:
    return None


def _outwards(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _depth(frame: FrameType) -> int:
    return sum(1 for _ in _outwards(frame))
