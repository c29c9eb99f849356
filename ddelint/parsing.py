"""Python's parser, also for text that nests deeper than the recursion limit of the moment lets it."""

from __future__ import annotations

import ast
import sys
import threading

ROOM = 128 << 20
"""Bytes of stack for what nests deep: a level of nesting takes a few hundred."""
LIMIT = 20_000
"""The recursion limit with that much stack; Python lets its parser nest three times as deep."""

TOO_DEEP = (RecursionError, MemoryError)
"""What Python raises where a text nests too deep for it; the second one where its parser's own stack is full."""

_one_at_a_time = threading.Lock()


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
