"""Whether a file, a class or an object is the user's own, not a library's."""

from __future__ import annotations

import functools
import inspect
import os
import sys
import sysconfig
from types import FunctionType, ModuleType
from typing import Any

from ddelint.trace import provenance

_INSTALLED = ("site-packages", "dist-packages")
"""How the folders that packages are installed into are called: an environment may see those of another one, too."""
_LIBRARIES = tuple(
    {
        os.path.realpath(folder) + os.sep
        for folder in (
            *map(sysconfig.get_path, ("purelib", "platlib", "stdlib", "platstdlib")),
            *(entry for entry in sys.path if os.path.basename(entry) in _INSTALLED),
        )
    }
)


@functools.cache
def is_users(filename: str) -> bool:
    """Whether a file is the user's own, not a library's."""
    return not provenance.is_plumbing(filename) and not os.path.realpath(filename).startswith(_LIBRARIES)


def is_of_users_class(value: Any) -> bool:
    """Whether an object is an instance of a class of the user's."""
    kind: Any = type(value)
    return not isinstance(value, (type, FunctionType, ModuleType)) and is_users_class(kind)


@functools.cache
def is_users_class(kind: type) -> bool:
    """Whether a class is written in a file of the user's."""
    functions = (part for part in vars(kind).values() if isinstance(part, FunctionType))
    first = next((file for file in map(_written_in, functions) if not file.startswith("<")), None)
    if first is not None:
        return is_users(first)
    filename = getattr(sys.modules.get(kind.__module__), "__file__", None)
    return isinstance(filename, str) and kind.__module__ != "builtins" and is_users(filename)


def _written_in(function: FunctionType) -> str:
    """The file of a function, below the decorators around it: those of libraries, and that of dataclasses around the
    `__repr__` which they make out of a text."""
    try:
        inner = inspect.unwrap(function)
    except ValueError:  # wrapped in itself
        inner = function
    return inner.__code__.co_filename if isinstance(inner, FunctionType) else function.__code__.co_filename
