"""Objects of Python's own library that hold a program's state: how it is read, and how it is put back.

Lists, dicts, sets and deques are read element by element, and random generators as `randomness` says.
"""

from __future__ import annotations

import array
import inspect
import io
import queue
import sys
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache, partial
from types import BuiltinMethodType, MethodType, ModuleType
from typing import Any


@dataclass(frozen=True)
class Holder:
    """A kind of object that holds one value."""

    read: Callable[[Any], Any]
    write: Callable[[Any, Any], None] | None
    """None where Python has no way to put it back."""


class _Nothing:
    """Has attributes alone: an object of a class that is written in another language has room for more."""


_UNSET = "not set"


def _value_of(variable: ContextVar[Any]) -> Any:
    try:
        return variable.get()
    except LookupError:
        return _UNSET


def _set(variable: ContextVar[Any], saved: Any) -> None:
    if saved is not _UNSET and _value_of(variable) is not saved:
        variable.set(saved)


def _refill(value: Any, saved: bytes) -> None:
    del value[:]
    value.extend(saved) if isinstance(value, bytearray) else value.frombytes(saved)


def _rewrite(stream: Any, saved: Any) -> None:
    stream.seek(0)
    stream.truncate()
    stream.write(saved)


def _refill_numpy(value: Any, saved: bytes) -> None:
    numpy = sys.modules["numpy"]
    if value.nbytes == len(saved):
        value[...] = numpy.frombuffer(saved, value.dtype).reshape(value.shape)


_READ_WHOLE = Holder(bytes, _refill)
_HOLDERS: dict[type, Holder] = {
    ContextVar: Holder(_value_of, _set),
    bytearray: _READ_WHOLE,
    array.array: _READ_WHOLE,
    io.StringIO: Holder(lambda stream: stream.getvalue(), _rewrite),
    io.BytesIO: Holder(lambda stream: stream.getvalue(), _rewrite),
    queue.SimpleQueue: Holder(lambda waiting: waiting.qsize(), None),
}
_NUMPY = Holder(lambda value: value.tobytes(), _refill_numpy)
_WITH_ATTRIBUTES = frozenset(("_thread", "_weakrefset", "argparse", "collections", "queue", "types", "weakref"))
"""Modules of Python whose objects keep all that they hold in attributes (`UserList`, `SimpleNamespace`, `local`)."""


def holder_of(value: Any) -> Holder | None:
    """How the state of `value` is read and put back, where it is such an object."""
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, numpy.ndarray):
        return _NUMPY
    return next((_HOLDERS[kind] for kind in type(value).__mro__ if kind in _HOLDERS), None)


def keeps_attributes(value: Any) -> bool:
    """Whether an object of Python's library holds its state in attributes."""
    return type(value).__module__ in _WITH_ATTRIBUTES and hasattr(value, "__dict__") and not callable(value)


def is_plain(value: Any) -> bool:
    """Whether an object of a library (a configuration) is of a class written in Python, which holds all in attributes.

    Not those of Python's own library and of torch, which lead to all that there is (a logger to all loggers).
    """
    kind: Any = type(value)
    return _is_plain(kind) and hasattr(value, "__dict__") and not callable(value)


@lru_cache(maxsize=4096)
def _is_plain(kind: Any) -> bool:
    package = kind.__module__.partition(".")[0] if isinstance(kind.__module__, str) else "builtins"
    return package not in (*sys.stdlib_module_names, "torch") and kind.__basicsize__ == _Nothing.__basicsize__


def restoring(value: Any, holder: Holder) -> Callable[[], None]:
    """What puts back what `value` holds now."""
    return partial(holder.write, value, holder.read(value)) if holder.write is not None else lambda: None


def owner_of(method: Any) -> Any:
    """The object whose bound method this is (`METER.update`, `[].append`); None for anything else."""
    owner = method.__self__ if isinstance(method, (MethodType, BuiltinMethodType)) else None
    return None if isinstance(owner, (type, ModuleType)) else owner


def is_moving(value: Any) -> bool:
    """Whether `value` gives one element after the other and cannot be taken back."""
    return isinstance(value, Iterator) and type(value).__module__ in ("builtins", "itertools")


def position(iterator: Any) -> str:
    """A text that changes with each element that an iterator gives."""
    if inspect.isgenerator(iterator):
        frame = iterator.gi_frame
        held = {} if frame is None else {name: _brief(value) for name, value in frame.f_locals.items()}
        return f"{-1 if frame is None else frame.f_lasti} {held}"
    try:
        return _brief(iterator.__reduce__())
    except (TypeError, AttributeError):
        return ""


def _brief(value: Any) -> str:
    """Numbers, texts, and places of iterators; of all else which object it is."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return repr(value)
    if is_moving(value):
        return position(value)
    if isinstance(value, tuple):
        return "(" + ", ".join(map(_brief, value)) + ")"
    return f"{type(value).__name__} {len(value)}" if isinstance(value, list) else str(id(value))
