"""Operators that user files register with torch: taken back before such a file is executed a second time."""

from __future__ import annotations

import functools
import os
import sys
import weakref
from typing import Any

import torch

from ddelint.trace import torch_internals

_SKIPPED = (os.path.dirname(torch.__file__) + os.sep, __file__)
_by_file: dict[str, list[weakref.ref[Any]]] = {}
_watching = False


def watch() -> None:
    """From now on remember which file made each `torch.library.Library`. Calling it twice changes nothing."""
    global _watching
    if _watching:
        return
    _watching = True
    original = torch.library.Library.__init__

    @functools.wraps(original)
    def remember(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        frame = sys._getframe(1)
        while frame.f_back is not None and frame.f_code.co_filename.startswith(_SKIPPED):
            frame = frame.f_back
        _by_file.setdefault(os.path.realpath(frame.f_code.co_filename), []).append(weakref.ref(self))

    torch.library.Library.__init__ = remember


def forget(filename: str) -> None:
    """Take back what `filename` registered: torch refuses to define an operator twice."""
    for reference in _by_file.pop(os.path.realpath(filename), ()):
        library = reference()
        if library is not None:
            torch_internals.destroy_library(library)
