"""Which calls are followed into the functions of the file: not into what is being read, nor too often.

Those that lead too deep are followed later, from their own first line.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence

from ddelint.static.domain.definitions import FunctionNode
from ddelint.static.domain.state import State
from ddelint.static.domain.values import (
    Alternatives,
    Function,
    Instance,
    Method,
    Partial,
    Series,
    Table,
    Tensor,
    Unbacked,
    Value,
    bare,
)
from ddelint.static.program.regions import FileIndex

CALL_DEPTH = 6
VISITS = 5
"""How often one function is interpreted for one file; after that its annotation must do."""
MOST_KINDS = 20
"""With data in other arguments it is interpreted all the same, up to so many times."""

_Kind = tuple[bool, frozenset[str]]
"""Whether nothing is recorded, and the parameters that hold data."""


class Following:
    """Counts the visits of one file's functions."""

    def __init__(self) -> None:
        self.refusals = 0
        """How many calls were not followed."""
        self._visits: dict[ast.AST, list[_Kind]] = {}
        self._late: dict[FunctionNode | ast.Lambda, tuple[Function, State]] = {}
        """The first call of each function that led too deep, with what held where it was made."""

    def may(
        self, definition: FunctionNode | ast.Lambda, active: Sequence[ast.AST], names: Mapping[str, Value], quiet: bool
    ) -> bool:
        """Whether the function may be interpreted once more; counts that it is.

        `active`: the functions being interpreted; `names`: what the parameters hold; `quiet`: nothing is recorded.
        """
        visits = self._visits.setdefault(definition, [])
        kind = quiet, frozenset(name for name, value in names.items() if holds_data(value))
        often = len(visits) >= VISITS and (kind in visits or len(visits) >= MOST_KINDS)
        if definition in active or len(active) >= CALL_DEPTH or often:
            self.refusals += 1
            return False
        visits.append(kind)
        return True

    def postpone(self, function: Function, entry: State) -> None:
        """A call was not followed: it is kept if no other of the function was."""
        if self.is_unseen(function.node):
            self._late.setdefault(function.node, (function, entry))

    def late(self, index: FileIndex) -> tuple[Function, State] | None:
        """A call that was put off, of a function that may ask and that nobody has come to since; None: no more."""
        while self._late:
            definition = next(iter(self._late))
            call = self._late.pop(definition)
            if self.is_unseen(definition) and index.matters(definition):
                self._visits.setdefault(definition, []).append((False, frozenset()))
                return call
        return None

    def is_unseen(self, definition: ast.AST) -> bool:
        """Whether nothing of the function was recorded so far."""
        return all(quiet for quiet, _ in self._visits.get(definition, ()))


def holds_data(value: Value) -> bool:
    """Whether a value that is passed is, or may be, a tensor or a number that was read."""
    return isinstance(bare(value), (Tensor, Unbacked))


def demanding(value: Value) -> bool:
    """Whether a function that gets the value may ask about it though nothing in its text says so."""
    value = bare(value)
    if isinstance(value, Series):
        return any(map(demanding, value.items if value.items is not None else (value.element,)))
    if isinstance(value, Instance):
        return value.fields is not None and any(map(demanding, value.fields.values()))
    return isinstance(value, Unbacked) or (isinstance(value, Tensor) and (value.scalar or bool(value.unbacked_dims)))


def gives_data(value: Value) -> bool:
    """Whether who gets the value may ask about it: `demanding`, a mask, or what holds such; anything to call, too."""
    return any(
        demanding(one) or (isinstance(one, Tensor) and one.boolean) or isinstance(one, _CALLED) for one in _held(value)
    )


def gives_tensors(value: Value) -> bool:
    """Whether the value is, or holds, a tensor."""
    return any(isinstance(one, Tensor) for one in _held(value))


def has_rank(value: Value) -> bool:
    """Whether the value is, or holds, a tensor of known rank: what comes of it may be a scalar."""
    return any(isinstance(one, Tensor) and one.complete for one in _held(value))


def _held(value: Value) -> Iterator[Value]:
    """The value, and what it holds."""
    value = bare(value)
    yield value
    parts: tuple[Value, ...] = ()
    if isinstance(value, Series):
        parts = (*(value.items or ()), value.element, value.length, *value.head, *value.tail)
    elif isinstance(value, Table):
        parts = (*value.entries.values(), value.element)
    for part in parts:
        yield from _held(part)


_CALLED = (Alternatives, Function, Method, Partial)
