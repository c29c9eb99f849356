"""Settings that a class says in words of its own: by a property or a method that gives a constant, which is there for a
subclass to say otherwise, by a descriptor, and by a `__getattr__` that looks elsewhere.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from enum import Enum
from types import FunctionType

import torch

_PLAIN = (bool, int, float, str, Enum)
_ABSENT = object()


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


def is_of_the_class(owner: object, name: str) -> bool:
    """Whether a property or a function that stands under a name of a module is its class's own word: a function that
    the module was given is none (`self.act = lambda x: 0.5`)."""
    if not isinstance(owner, torch.nn.Module) or name in vars(owner) or name in owner._modules:
        return False
    return isinstance(inspect.getattr_static(type(owner), name, None), (property, FunctionType))


@contextmanager
def said_otherwise(cls: type, name: str, value: object) -> Iterator[None]:
    """Within, a class says another value by a property or a method; afterwards all is as it was.

    No subclass is made: that would run the user's `__init_subclass__`, and a registry would keep it.
    """
    own = vars(cls).get(name, _ABSENT)
    is_property = isinstance(inspect.getattr_static(cls, name, None), property)
    # what a metaclass of the user's does when an attribute is set is not asked for
    type.__setattr__(cls, name, property(lambda self: value) if is_property else lambda self: value)
    try:
        yield
    finally:
        if own is _ABSENT:
            type.__delattr__(cls, name)
        else:
            type.__setattr__(cls, name, own)


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
