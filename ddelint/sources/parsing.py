"""How deep text may nest: Python's parser with more room than the moment gives it, and as many frames for everybody."""

from __future__ import annotations

import ast
import contextlib
import sys
import threading
from collections.abc import Iterator

ROOM = 128 << 20
"""Bytes of stack for what nests deep: a level of nesting takes a few hundred."""
LIMIT = 20_000
"""The recursion limit with that much stack; Python lets its parser nest three times as deep."""

TOO_DEEP = (RecursionError, MemoryError)
"""What Python raises where a text nests too deep for it; the second one where its parser's own stack is full."""

FRAMES = 950
"""Frames for reading a syntax tree: what Python gives a program that changes nothing, but for those of its caller."""

_one_at_a_time = threading.RLock()


@contextlib.contextmanager
def same_depth() -> Iterator[None]:
    """As many frames as ever, however deep the caller stands and whoever raised the limit (Inductor does)."""
    depth, frame = 0, sys._getframe()
    while (frame := frame.f_back) is not None:  # type: ignore[assignment]
        depth += 1
    with _one_at_a_time:
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(depth + FRAMES)
        try:
            yield
        finally:
            sys.setrecursionlimit(limit)


def parse(text: str, filename: str) -> ast.Module:
    """`ast.parse`. Raises SyntaxError and ValueError as that does, and one of TOO_DEEP."""
    try:
        return ast.parse(text, filename)
    except RecursionError:  # a sum of a few thousand terms, say: no reason not to read it
        return _with_room(text, filename)


def _with_room(text: str, filename: str) -> ast.Module:
    """Parse in a thread with a stack of its own, which is gone afterwards."""
    answer: list[ast.Module | BaseException] = []

    def work() -> None:
        try:
            answer.append(ast.parse(text, filename))
        except BaseException as error:  # raised again where it was asked for
            answer.append(error)

    with _one_at_a_time:
        limit, size = sys.getrecursionlimit(), threading.stack_size(ROOM)
        sys.setrecursionlimit(max(LIMIT, limit))
        try:
            thread = threading.Thread(target=work, name="ddelint-parser")
            thread.start()
            thread.join()
        except RuntimeError as error:
            raise RecursionError("there is no room for a deeper stack") from error
        finally:
            threading.stack_size(size)
            sys.setrecursionlimit(limit)
    found = answer[0]
    if isinstance(found, BaseException):
        raise found
    return found
