"""Packages of ddelint whose name the Python API uses for a function, too."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Any


class CallablePackage(ModuleType):
    """`ddelint.verify` is a package, and `ddelint.verify(...)` calls the function of that name in `ddelint.api`."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the API's function."""
        return getattr(import_module("ddelint.api"), self.__name__.rpartition(".")[2])(*args, **kwargs)
