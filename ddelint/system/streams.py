"""Standard input, output and error, whatever the caller has made of them: closed, full, or of an encoding of escapes.

What goes to standard error never ends a call. What cannot be written to standard output, or read from standard input,
does, in one line that names the cause.
"""

from __future__ import annotations

import codecs
import errno
import io
import os
import sys
from contextlib import suppress
from typing import Any

from ddelint.errors import DdelintError

_UNUSABLE = frozenset(("idna", "punycode", "undefined"))
"""Encodings in which a text cannot be written piece by piece."""
MOST_INPUT = 2**30
"""Bytes of standard input that are read."""


class StreamError(DdelintError):
    """A standard stream that is of no use; the message is one line."""


class Output(io.TextIOWrapper):
    """Standard output. Raises StreamError where it cannot be written; a reader that is gone is a BrokenPipeError."""

    def write(self, text: str) -> int:
        """Write a text."""
        try:
            return super().write(text)
        except OSError as error:
            raise _not_written(error) from error

    def flush(self) -> None:
        """Hand on what is written."""
        try:
            super().flush()
        except OSError as error:
            raise _not_written(error) from error


class Messages(io.TextIOWrapper):
    """Standard error. What cannot be written is lost, and nothing else for it."""

    def write(self, text: str) -> int:
        """Write a text."""
        try:
            return super().write(text)
        except OSError:
            abandon(2)
            return len(text)

    def flush(self) -> None:
        """Hand on what is written."""
        try:
            super().flush()
        except OSError:
            abandon(2)


def settle() -> None:
    """Make the standard streams of this process such that they can be used."""
    if any(stream is None for stream in (sys.stdin, sys.stdout, sys.stderr)):
        _reopen()
    if type(sys.stdout) is io.TextIOWrapper:
        settings = _settings(sys.stdout)
        sys.stdout = sys.__stdout__ = Output(sys.stdout.detach(), **settings)  # type: ignore[misc]
    if type(sys.stderr) is io.TextIOWrapper:
        settings = _settings(sys.stderr)
        sys.stderr = sys.__stderr__ = Messages(sys.stderr.detach(), **settings)  # type: ignore[misc]


def read_input(at_most: int = MOST_INPUT) -> bytes:
    """All of standard input. Raises StreamError."""
    try:
        data = sys.stdin.buffer.read(at_most + 1)
    except OSError as error:
        closed = error.errno == errno.EBADF
        raise StreamError(f"cannot read standard input: {'it is closed' if closed else error.strerror}") from error
    if len(data) > at_most:
        raise StreamError(f"standard input is more than {at_most >> 20} MB")
    return data


def write_output(data: bytes) -> None:
    """Write bytes to standard output. Raises StreamError, or BrokenPipeError."""
    sys.stdout.flush()
    try:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    except OSError as error:
        raise _not_written(error) from error


def abandon(descriptor: int) -> None:
    """What is still written there goes nowhere: nothing is to fail for it while the process ends."""
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)


def _not_written(error: OSError) -> Exception:
    abandon(1)
    if isinstance(error, BrokenPipeError):
        return error
    why = "it is closed" if error.errno == errno.EBADF else error.strerror
    return StreamError(f"cannot write to standard output: {why}")


def fill_descriptors() -> None:
    """Open those of 0, 1 and 2 that are closed: no file of ours is to get such a number."""
    for descriptor, flags in enumerate((os.O_WRONLY, os.O_RDONLY, os.O_WRONLY)):  # reading and writing fail as before
        try:
            os.fstat(descriptor)
        except OSError:
            os.set_inheritable(os.open(os.devnull, flags), True)  # the lowest number that is free


def _reopen() -> None:
    fill_descriptors()
    streams = (sys.stdin, sys.stdout, sys.stderr)
    if streams[0] is None:
        sys.stdin = open(0, closefd=False)  # noqa: SIM115  # as long as the process
    if streams[1] is None:
        sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
    if streams[2] is None:
        sys.stderr = open(2, "w", buffering=1, closefd=False)  # noqa: SIM115


def _settings(stream: io.TextIOWrapper) -> dict[str, Any]:
    """How to write to the same place; what its encoding has no place for is spelled out."""
    usable = codecs.lookup(stream.encoding).name not in _UNUSABLE
    encoding = stream.encoding if usable else "utf-8"
    return {"encoding": encoding, "errors": "backslashreplace", "line_buffering": stream.line_buffering}
