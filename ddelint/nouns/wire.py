"""Frozen dataclasses to and from plain JSON values, for the pipe between the parent and its worker."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping
from enum import Enum
from functools import cache
from typing import Any, TypeVar, cast

T = TypeVar("T")


def to_wire(value: object) -> Any:
    """A JSON-serializable copy of `value` (dataclasses, enums, tuples, mappings, scalars).

    Raises TypeError for anything else, so that nothing is lost silently.
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: to_wire(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, (list, tuple, set, frozenset)):
        return [to_wire(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): to_wire(item) for key, item in value.items()}
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    raise TypeError(f"{type(value).__name__} cannot cross the wire")


def from_wire(kind: type[T], value: Any) -> T:
    """The inverse of `to_wire`, guided by the type `kind`; unknown keys are refused with a TypeError."""
    return cast(T, _build(kind, value))


@cache
def _hints(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def _build(kind: Any, value: Any) -> Any:
    origin = typing.get_origin(kind)
    if origin in (typing.Union, types.UnionType):
        if value is None:
            return None
        options = [option for option in typing.get_args(kind) if option is not type(None)]
        return _build(options[0], value) if len(options) == 1 else value
    if origin is tuple:
        parts = typing.get_args(kind)
        if len(parts) == 2 and parts[1] is Ellipsis:
            return tuple(_build(parts[0], item) for item in value)
        return tuple(_build(part, item) for part, item in zip(parts, value, strict=True))
    if origin is list:
        (part,) = typing.get_args(kind)
        return [_build(part, item) for item in value]
    if origin is not None and isinstance(origin, type) and issubclass(origin, Mapping):
        _, part = typing.get_args(kind)
        return {key: _build(part, item) for key, item in value.items()}
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        hints = _hints(kind)
        unknown = set(value) - set(hints)
        if unknown:
            raise TypeError(f"{kind.__name__} has no field {', '.join(sorted(unknown))}")
        return kind(**{name: _build(hints[name], item) for name, item in value.items()})
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind(value)
    return value
