"""The other members of an enumeration that a setting or an argument is one of."""

from __future__ import annotations

import typing
from collections.abc import Callable
from contextlib import suppress
from enum import Enum, EnumMeta
from typing import Any

import torch

_MOST = 3


def other_members(value: object) -> list[Enum]:
    """The first few members of the enumeration that a value is a member of, itself left out; none of what is none."""
    return [other for other in type(value) if other is not value][:_MOST] if isinstance(value, Enum) else []


def annotated_members(called: Callable[..., Any]) -> dict[str, list[Enum]]:
    """Argument → the first few members of the enumeration that it is annotated with (`Mode`, `Mode | None`)."""
    found: dict[str, list[Enum]] = {}
    with suppress(Exception):  # an annotation may name what isn't there at run time
        for name, hint in typing.get_type_hints(called).items():
            for kind in (hint, *typing.get_args(hint)):
                if isinstance(kind, EnumMeta):
                    found[name] = list(kind)[:_MOST]
    return found


def as_there(value: object, there: object) -> object:
    """A value as a program has it that may have been imported anew: the member of this name of the class of what it
    holds."""
    if isinstance(value, Enum) and isinstance(there, Enum):
        return type(there).__members__.get(value.name, value)
    return value


def said(value: object) -> str:
    """`Mode.MEAN` for a member, `float32[2, 3]` for a tensor, a function's or class's name, else what `repr` says."""
    if isinstance(value, torch.Tensor):
        return f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}"
    if isinstance(value, Enum):
        return f"{type(value).__name__}.{value.name}"
    name = getattr(value, "__name__", None)
    return name if isinstance(name, str) else repr(value)
