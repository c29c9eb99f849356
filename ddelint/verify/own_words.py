"""Settings that a class says in words of its own: by a property or a method that gives a constant, which is there for a
subclass to say otherwise, by a descriptor, and by a `__getattr__` that looks elsewhere.
"""

from __future__ import annotations

import inspect
from contextlib import suppress
from enum import Enum
from types import FunctionType
from typing import Any

_PLAIN = (bool, int, float, str, Enum)


def said_by_the_class(found: property | FunctionType) -> object:
    """What a property, or a method that takes nothing, gives as a constant; None where it computes with anything."""
    getter = found.fget if isinstance(found, property) else found
    code = getattr(getter, "__code__", None)
    if code is None or code.co_names or code.co_freevars or code.co_argcount != 1 or code.co_kwonlyargcount:
        return None
    with suppress(Exception):
        value = getter(None)  # type: ignore[misc]
        return value if isinstance(value, _PLAIN) and not isinstance(value, str) else None
    return None


def say_otherwise(owner: Any, name: str, value: object) -> None:
    """Make an object one of a subclass that says another value; its name is the same."""
    cls = type(owner)
    is_property = isinstance(getattr(cls, name, None), property)
    said = property(lambda self: value) if is_property else lambda self: value
    body = {name: said, "__module__": cls.__module__, "__qualname__": cls.__qualname__}
    owner.__class__ = type(cls.__name__, (cls,), body)


def is_descriptor(found: object) -> bool:
    """Whether it is one of the user's that can be set (`fill = Ranged(0, 1)` in the class)."""
    is_users = type(found).__module__.partition(".")[0] not in ("builtins", "functools", "torch")
    return is_users and hasattr(type(found), "__get__") and hasattr(type(found), "__set__")


def found_by_the_class(owner: object, name: str, base: type | None = None) -> object:
    """What a descriptor or a `__getattr__` of the user's (not that of `base`) finds under a name, where that
    is a number, a text or a member of an enumeration; None where there is nothing of the kind."""
    asked = getattr(type(owner), "__getattr__", None)
    own = inspect.getattr_static(type(owner), name, None)
    if not is_descriptor(own) and (asked is None or (base is not None and asked is getattr(base, "__getattr__", None))):
        return None
    with suppress(Exception):
        value = getattr(owner, name)
        return value if isinstance(value, _PLAIN) else None
    return None
