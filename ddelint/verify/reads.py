"""What the text of a program reads that is no tensor, whatever holds it.

Settings stand in modules, dictionaries, named tuples, properties, descriptors, registries, closures and defaults, and
callers pass them on. A list of holders is never whole; but whatever holds a setting, the text reads it somewhere. There
the reading itself gives another value, in the original and in the rewritten program alike: what is read is known by the
kind of its holder and its name, not by its place in the text.
"""

from __future__ import annotations

import builtins
import contextlib
import copy
import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from types import FunctionType, ModuleType
from typing import Any

import torch

from ddelint.trace.ownership import is_users
from ddelint.verify.enumerations import as_there
from ddelint.verify.members import of_numpy

READ = "__ddelint_read__"
"""The name among the builtins that instrumented text reads by."""
GLOBAL, ARGUMENT, GIVEN, BOUND = "global", "argument of ", "what is given by ", "bound in "
"""Holders that are no objects."""
_PLAIN = (bool, int, float, str)
_OF_TORCH = (torch.Tensor, torch.Size, torch.dtype, torch.device, torch.finfo, torch.iinfo, torch.nn.ParameterList)
_LIBRARIES = ("torch", "math", "numpy")
_KEPT = frozenset({"training"})
"""What is varied as a mode."""
_TOO_MANY = 2
"""Values of one thing in one call: it is no setting."""
_KEYS = (str, int, Enum)
_LONGEST = 16
"""Elements of a list that are varied one by one; a longer one is data."""


@dataclass(frozen=True)
class Read:
    """What is read: of which kind of holder, under which name."""

    holder: str
    """A class (`Config`, `dict`), a list as it is written, or
    `global`, `argument of pooled`, `what is given by fill`, `bound in pooled`."""
    name: str

    def __str__(self) -> str:
        if self.holder.startswith(ARGUMENT):
            return f"{self.holder.removeprefix(ARGUMENT)}({self.name})"
        if self.holder.startswith(GIVEN):
            return f"{self.holder.removeprefix(GIVEN)}({self.name})"
        if self.holder == GLOBAL:
            return f"global {self.name}"
        return f"{self.holder}.{self.name}"


@dataclass(frozen=True)
class Seen:
    """One value that was read."""

    value: object
    """A copy where it may be written to."""
    said: str
    """How it was written when it was read."""
    rank: int
    """0 where a decision's test reads it, 1 where its function does, else 2."""


@dataclass
class Readings:
    """What instrumented text reads while this stands among the builtins, and what it is given instead."""

    changes: Mapping[Read, tuple[object, object]] = field(default_factory=dict)
    """What is read → (its value, the other one)."""
    calls: list[dict[tuple[Read, int], list[Seen]]] = field(default_factory=list)
    """For each call of the program: (what was read, `id` of its holder) → the values, in the order of time, each once
    and no more than two. Nothing is noted where there is no call."""
    _holders: dict[int, object] = field(default_factory=dict)
    """They are kept, so that no other is known by the `id` of one."""

    def attribute(self, rank: int, owner: Any, name: str, /, *default: Any) -> Any:
        """`owner.name`, or `getattr(owner, name, default)`."""
        value = getattr(owner, name, *default)
        if isinstance(value, functools.partial):
            return self._bound(value, rank)
        if isinstance(owner, _OF_TORCH) or name in _KEPT or not may_vary(value):
            return value
        if isinstance(owner, ModuleType):
            is_own = is_users(getattr(owner, "__file__", None) or "<")
            return self._given(Read(GLOBAL, name), owner, value, rank) if is_own else value
        kind = owner if isinstance(owner, type) else type(owner)
        if kind.__module__.partition(".")[0] in _LIBRARIES:
            return value
        return self._given(Read(kind.__qualname__, name), owner, value, rank)

    def item(self, rank: int, written: str, owner: Any, key: Any, /) -> Any:
        """`owner[key]`; what has a place in a list or a tuple and no name is known by how the owner is `written`."""
        value = owner[key]
        if isinstance(owner, _OF_TORCH) or not isinstance(key, _KEYS) or not may_vary(value):
            return value
        read = Read(written, str(key)) if isinstance(owner, (list, tuple)) else _item_of(owner, key)
        return self._given(read, owner, value, rank)

    def get(self, rank: int, owner: Any, /, *args: Any, **kwargs: Any) -> Any:
        """`owner.get(…)`."""
        value = owner.get(*args, **kwargs)
        key = args[0] if args else "get"
        if isinstance(owner, (*_OF_TORCH, ModuleType)) or not isinstance(key, _KEYS) or not may_vary(value):
            return value
        return self._given(_item_of(owner, key), owner, value, rank)

    def contains(self, rank: int, text: str, owner: Any, /) -> bool:
        """`text in owner`: a set of options, a text that says several."""
        value = text in owner
        return value if _is_data(owner) else self._given(Read(type(owner).__qualname__, text), owner, value, rank)

    def called(self, rank: int, function: Any, /, *args: Any, **kwargs: Any) -> Any:
        """`function(…)`: what a file or a library gives whose text is not read, of no data."""
        value = function(*args, **kwargs)
        if (
            not may_vary(value)
            or not _may_give_settings(function, args)
            or any(map(_is_data, (*args, *kwargs.values())))
        ):
            return value
        return self._given(_call_of(function, args), None, value, rank)

    def name(self, rank: int, holder: str, name: str, value: Any, /) -> Any:
        """A global, a name of a function around, an argument; a constant that a function gives."""
        return self._given(Read(holder, name), None, value, rank) if may_vary(value) else value

    def _bound(self, function: functools.partial[Any], rank: int) -> functools.partial[Any]:
        """A function with what is bound in it by name as it is read."""
        where = BOUND + getattr(function.func, "__name__", type(function.func).__name__)
        bound = {name: self.name(rank, where, name, value) for name, value in function.keywords.items()}
        if all(bound[name] is value for name, value in function.keywords.items()):
            return function
        return functools.partial(function.func, *function.args, **bound)

    def _given(self, read: Read, owner: object, value: Any, rank: int) -> Any:
        if self.calls:
            self._note(read, owner, value, rank)
        change = self.changes.get(read)
        if change is None or not is_same(value, change[0]):
            return value
        return copy.deepcopy(as_there(change[1], value))  # what is read may be written to

    def _note(self, read: Read, owner: object, value: Any, rank: int) -> None:
        known = self.calls[-1].setdefault((read, id(owner)), [])
        self._holders.setdefault(id(owner), owner)
        if len(known) < _TOO_MANY and (said := said_of(value)) not in (one.said for one in known):
            known.append(Seen(copy.deepcopy(value), said, rank))


_PLAINLY = Readings()


@contextlib.contextmanager
def in_effect(readings: Readings) -> Iterator[None]:
    """Within, instrumented text reads by `readings`, and what these leave by those that are in effect already."""
    before = getattr(builtins, READ, _PLAINLY)
    if before is not _PLAINLY:
        changes = {**before.changes, **readings.changes}
        readings = replace(readings, changes=changes, calls=readings.calls or before.calls)
    setattr(builtins, READ, readings)
    try:
        yield
    finally:
        # what was made within (a hook, a function in a cache) goes on to read, and as it stands
        setattr(builtins, READ, before)


def settled(runs: Sequence[Readings]) -> list[tuple[Read, Seen]]:
    """What was read, and its value: each that is one and the same in all calls of all runs that read it, of a holder
    that outlasts a call. Any other is a result, or state. What tests read comes first, then what their functions do.

    Each of `runs` is of one instance that was called at least twice.
    """
    found = [_kept_of(run) for run in runs]
    kept: dict[tuple[Read, str], Seen] = {}
    for one in found:
        for key, seen in one.items():
            kept[key] = min((seen, kept.get(key, seen)), key=lambda each: each.rank)
    read_in = [{read for call in run.calls for read, _ in call} for run in runs]
    everywhere = {
        key: seen
        for key, seen in kept.items()
        if all(key in one for one, names in zip(found, read_in) if key[0] in names)
    }
    return sorted(((read, seen) for (read, _), seen in everywhere.items()), key=_order)


def _order(found: tuple[Read, Seen]) -> tuple[int, bool]:
    """What holds others comes after them, and so does what a function gives: it is mostly read elsewhere, too."""
    read, seen = found
    return seen.rank, isinstance(seen.value, (list, tuple, dict)) or read.holder.startswith(GIVEN)


def _kept_of(run: Readings) -> dict[tuple[Read, str], Seen]:
    """(What is read, how its value is written) → the value, lowest rank."""
    kept: dict[tuple[Read, str], Seen] = {}
    first, *later = run.calls or [{}]
    for place, values in first.items():
        others = [call.get(place, []) for call in later]
        is_one = len(values) == 1 and all(len(other) == 1 and other[0].said == values[0].said for other in others)
        if later and is_one:
            key = (place[0], values[0].said)
            kept[key] = min((values[0], kept.get(key, values[0])), key=lambda seen: seen.rank)
    return kept


def may_vary(value: Any) -> bool:
    """Whether it is a number, a text, a member of an enumeration, or a short list or dictionary of such."""
    if type(value) in (list, tuple, dict):
        held = value.values() if type(value) is dict else value
        return 0 < len(value) <= _LONGEST and all(one is None or may_vary(one) for one in held)
    return type(value) in _PLAIN or isinstance(value, Enum) or of_numpy(value) is not None


def is_same(one: object, other: object) -> bool:
    """Whether two values are written alike and of types that are named alike: a class may have been loaded anew."""
    return said_of(one) == said_of(other)


def said_of(value: object) -> str:
    """A plain value and its type as text."""
    return f"{type(value).__qualname__} {value!r}"


def _item_of(owner: Any, key: Any) -> Read:
    return Read(type(owner).__qualname__, key.name if isinstance(key, Enum) else str(key))


def _may_give_settings(function: Any, args: Sequence[object]) -> bool:
    """Whether what a call gives is seen nowhere else, and may be no more than what somebody has set.

    A function of Python's own mostly says what its arguments are (`len`, `isinstance`), but for what it makes of texts.
    """
    owner = getattr(function, "__self__", None)
    if owner is builtins or (isinstance(function, type) and function.__module__ == "builtins"):
        return function is next or (bool(args) and all(type(argument) is str for argument in args))
    if READ in getattr(getattr(function, "__code__", None), "co_names", ()):
        return False
    kind = function if hasattr(function, "__qualname__") else type(function)
    module = getattr(kind, "__module__", None) or type(owner).__module__
    return module.partition(".")[0] not in _LIBRARIES and not _is_data(owner)


def _is_data(value: object) -> bool:
    """Whether it is a tensor or a number, or has some in it: what is computed of these is no setting."""
    if isinstance(value, (list, tuple, set, frozenset)):
        return isinstance(value, torch.Size) or any(map(_is_data, value))
    if isinstance(value, dict):
        return any(isinstance(held, torch.Tensor) for held in value.values())
    return isinstance(value, (*_OF_TORCH, int, float)) or type(value).__module__ == "numpy"


def _call_of(function: Any, args: Sequence[object]) -> Read:
    """Known by its name, and by the texts that it is asked with, or is asked of."""
    named = getattr(function, "__qualname__", None)
    is_written = named is None and not isinstance(type(function).__repr__, FunctionType)  # no `__repr__` of the user's
    about = [repr(function)] if is_written and " at 0x" not in repr(function) else []
    texts = (one for one in (getattr(function, "__self__", None), *args) if isinstance(one, (str, Enum)))
    return Read(GIVEN + (named or type(function).__qualname__), ", ".join([*about, *map(str, texts)]))
